import type { Conversation } from './harness-conversation.js';

/** @returns the agent's answer */
type Run = (conversation: Conversation, folder: string) => Promise<string>;

/** Runs by the contender's name. Loaded in the process of a contender, and only there. */
type Library = () => Promise<Readonly<Record<string, Run>>>;

const ours: Library = async () => (await import('./harness-ours.js')).ours;
const aiSdk: Library = async () => (await import('./harness-ai-sdk.js')).aiSdk;
const langchain: Library = async () => (await import('./harness-langchain.js')).langchain;
const mastra: Library = async () => ({ 'Mastra Agent': (await import('./harness-mastra.js')).mastra });
const openAiAgents: Library = async () => ({
  'OpenAI Agents': (await import('./harness-openai-agents.js')).openAiAgents,
});

/** On the Node that runs this, on a Node 22 that is fetched, or on both, to compare with what needs that. */
type Side = 'here' | 'node22' | 'both';

/** Who takes part, where, and the file that knows how. */
const contenders: Readonly<Record<string, readonly [Side, Library]>> = {
  '@x/harness': ['both', ours],
  '@x/harness, compaction armed, checkpoint every step': ['both', ours],
  '@x/harness, compaction at 128k, checkpoint every step': ['both', ours],
  '@x/harness, the same with telemetry and no SDK': ['both', ours],
  '@x/harness, the same in files (fsync)': ['here', ours],
  'AI SDK 6 ToolLoopAgent': ['both', aiSdk],
  'LangChain createAgent': ['here', langchain],
  'LangChain createAgent, summarization armed': ['here', langchain],
  'LangChain createAgent + MemorySaver': ['here', langchain],
  'LangGraph + MemorySaver': ['here', langchain],
  'OpenAI Agents': ['here', openAiAgents],
  'AI SDK 7 ToolLoopAgent': ['node22', aiSdk],
  'Mastra Agent': ['node22', mastra],
};

/** The names of those that take part on one side. */
export function contendersOn(side: 'here' | 'node22'): readonly string[] {
  return Object.keys(contenders).filter((name) => ['both', side].includes(contenders[name]?.[0] ?? ''));
}

/** @throws {Error} when there is no such contender. */
export async function contenderNamed(name: string): Promise<Run> {
  const [, load] = contenders[name] ?? [];
  const run = (await load?.())?.[name];
  if (run === undefined) throw new Error(`There is no contender ${name}.`);
  return run;
}
