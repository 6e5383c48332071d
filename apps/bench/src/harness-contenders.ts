import type { Conversation } from './harness-conversation.js';

/** Returns the agent's answer. */
type Run = (conversation: Conversation) => Promise<string>;

/** Runs by the contender's name, loaded only in the process that measures one. */
type Library = () => Promise<Readonly<Record<string, Run>>>;

const ours: Library = async () => (await import('./harness-ours.js')).ours;
const aiSdk: Library = async () => (await import('./harness-ai-sdk.js')).aiSdk;
const langchain: Library = async () => (await import('./harness-langchain.js')).langchain;

const contenders: Readonly<Record<string, Library>> = {
  '@x/harness': ours,
  '@x/harness, compaction armed, checkpoint every step': ours,
  '@x/harness, compaction at 128k, checkpoint every step': ours,
  '@x/harness, the same with telemetry and no SDK': ours,
  '@x/harness, the same in files (fsync)': ours,
  'AI SDK ToolLoopAgent': aiSdk,
  'LangChain createAgent, summarization armed': langchain,
  'LangChain createAgent + MemorySaver': langchain,
};

export const contenderNames: readonly string[] = Object.keys(contenders);

/** @throws {Error} if no contender has this name. */
export async function contenderNamed(name: string): Promise<Run> {
  const run = (await contenders[name]?.())?.[name];
  if (run === undefined) throw new Error(`There is no contender ${name}.`);
  return run;
}
