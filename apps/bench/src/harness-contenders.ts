import type { Conversation } from './harness-conversation.js';

/** @returns the agent's answer */
type Run = (conversation: Conversation, folder: string) => Promise<string>;

/** Each is loaded in a process of its own, and only there. */
const load: Readonly<Record<string, () => Promise<Readonly<Record<string, Run>>>>> = {
  ours: async () => (await import('./harness-ours.js')).ours,
  'ai-sdk': async () => ({ 'AI SDK 6 ToolLoopAgent': (await import('./harness-ai-sdk.js')).aiSdk }),
  'ai-sdk-7': async () => ({ 'AI SDK 7 ToolLoopAgent': (await import('./harness-ai-sdk-7.js')).aiSdk7 }),
  langchain: async () => (await import('./harness-langchain.js')).langchain,
  mastra: async () => ({ 'Mastra Agent': (await import('./harness-mastra.js')).mastra }),
  'openai-agents': async () => ({
    'OpenAI Agents': (await import('./harness-openai-agents.js')).openAiAgents,
  }),
};

export type Contender = readonly [library: string, name: string];

const OURS: readonly Contender[] = [
  ['ours', '@x/harness'],
  ['ours', '@x/harness, compaction armed, checkpoint every step'],
  ['ours', '@x/harness, compaction at 128k, checkpoint every step'],
  ['ours', '@x/harness, the same with telemetry and no SDK'],
];
const AI_SDK_6: Contender = ['ai-sdk', 'AI SDK 6 ToolLoopAgent'];

/** Who takes part, by the file that knows how. */
export const CONTENDERS: readonly Contender[] = [
  ...OURS,
  ['ours', '@x/harness, the same in files (fsync)'],
  AI_SDK_6,
  ['langchain', 'LangChain createAgent'],
  ['langchain', 'LangChain createAgent, summarization armed'],
  ['langchain', 'LangChain createAgent + MemorySaver'],
  ['langchain', 'LangGraph + MemorySaver'],
  ['openai-agents', 'OpenAI Agents'],
];

/** Those that need Node 22; and on the same Node, to compare with, ours and the line of the AI SDK that needs less. */
export const NODE22_CONTENDERS: readonly Contender[] = [
  ...OURS,
  AI_SDK_6,
  ['ai-sdk-7', 'AI SDK 7 ToolLoopAgent'],
  ['mastra', 'Mastra Agent'],
];

/** @throws {Error} when there is no such contender. */
export async function contenderNamed(library: string, name: string): Promise<Run> {
  const run = (await load[library]?.())?.[name];
  if (run === undefined) throw new Error(`There is no contender ${library} ${name}.`);
  return run;
}
