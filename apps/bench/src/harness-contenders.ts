import type { Conversation } from './harness-conversation.js';

type Run = (conversation: Conversation) => Promise<void>;

/** Each is loaded in a process of its own, and only there. */
const load: Readonly<Record<string, () => Promise<Readonly<Record<string, Run>>>>> = {
  ours: async () => (await import('./harness-ours.js')).ours,
  'ai-sdk': async () => ({ 'AI SDK 6 ToolLoopAgent': (await import('./harness-ai-sdk.js')).aiSdk }),
  langchain: async () => (await import('./harness-langchain.js')).langchain,
  'openai-agents': async () => ({
    'OpenAI Agents': (await import('./harness-openai-agents.js')).openAiAgents,
  }),
};

/** Who takes part, by the file that knows how. */
export const CONTENDERS: readonly (readonly [library: string, name: string])[] = [
  ['ours', '@x/harness'],
  ['ours', '@x/harness, compaction armed, checkpoint every step'],
  ['ours', '@x/harness, compaction at 128k, checkpoint every step'],
  ['ours', '@x/harness, the same with telemetry and no SDK'],
  ['ours', '@x/harness, the same in files (fsync)'],
  ['ai-sdk', 'AI SDK 6 ToolLoopAgent'],
  ['langchain', 'LangChain createAgent'],
  ['langchain', 'LangChain createAgent, summarisation armed'],
  ['langchain', 'LangChain createAgent + MemorySaver'],
  ['langchain', 'LangGraph + MemorySaver'],
  ['openai-agents', 'OpenAI Agents'],
];

/** @throws {Error} when there is no such contender. */
export async function contenderNamed(library: string, name: string): Promise<Run> {
  const run = (await load[library]?.())?.[name];
  if (run === undefined) throw new Error(`There is no contender ${library} ${name}.`);
  return run;
}
