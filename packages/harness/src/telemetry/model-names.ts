/** The conventions' names of providers that adapters know by another one. */
const PROVIDERS: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  'azure-openai': 'azure.ai.openai',
  'amazon-bedrock': 'aws.bedrock',
  bedrock: 'aws.bedrock',
  google: 'gcp.gemini',
  'google-vertex': 'gcp.vertex_ai',
  vertex: 'gcp.vertex_ai',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  moonshotai: 'moonshot_ai',
  xai: 'x_ai',
};

/** `openai.responses:gpt-5` → `{ provider: 'openai', model: 'gpt-5' }`. Without a prefix the provider is `_OTHER`. */
export function modelNames(id: string): { readonly provider: string; readonly model: string } {
  const colon = id.indexOf(':');
  if (colon <= 0) return { provider: '_OTHER', model: id };
  const family = id.slice(0, colon).split('.', 1)[0] ?? '';
  return { provider: PROVIDERS[family] ?? family, model: id.slice(colon + 1) };
}
