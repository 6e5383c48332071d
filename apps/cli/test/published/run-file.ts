import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Meter } from '@x/compaction';
import {
  type AgentEvent,
  assistantMessage,
  estimateCounter,
  type Message,
  openSession,
  RuntimeContext,
  textOf,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { beforeEach, expect } from 'vitest';
import { openAgent } from '../../src/agent/open-agent.js';
import { directory, environment, server, setEnvironment, withProvider } from '../native/of-test.js';
import { type Faults, QUESTION, type Taken } from '../native/provider-server.js';
import { checkInEditor } from '../support/editor-schema.js';

/** Gives each test of the file that calls this a directory and a provider that summarizes. */
export function withSummarizer(): void {
  withProvider();
  beforeEach(() => {
    server.faults.record =
      '## SESSION INTENT\nMend the login.\n## SUMMARY\nThe cause was found in the third file that was read, and is mended.\n' +
      '## ARTIFACTS\nsrc/login.ts changed\n## NEXT STEPS\nRun the tests.';
  });
}

export { server };

export const lines = (count: number) => Array.from({ length: count }, (_, line) => `line ${line}`).join('\n');

interface Round {
  readonly input?: Readonly<Record<string, string>>;
  readonly output?: string;
}

/** A request, and rounds in which the model calls a tool and reads its result. */
export function talkOf(count: number, { input = {}, output = lines(300) }: Round = {}): Message[] {
  const rounds = Array.from({ length: count }, (_, index) => {
    const path = `src/part${index}.ts`;
    const call = { type: 'tool_use', id: `call_${index}`, name: 'read', input: { path, ...input } } as const;
    return [assistantMessage([call]), toolResultMessage(call, output)];
  });
  return [userMessage('Mend the login.'), ...rounds.flat()];
}
export const sizeOf = (talk: readonly Message[]) => new Meter(estimateCounter).messages(talk);
/** The window of which `talk` and a question fill so much. */
export const windowFor = (talk: readonly Message[], share: number) => Math.round(sizeOf(talk) / share);

interface Setting {
  /** The agent's file behind its model, or all files. */
  readonly files: string | Readonly<Record<string, string>>;
  readonly talk: readonly Message[];
  /** `null`: the file names none. */
  readonly window?: number | null;
  readonly model?: string;
  readonly faults?: Faults;
}

/** Opens the agent of the files on a session that holds `talk`, and asks it one thing. */
export async function run({ files, talk, window = 400_000, model = 'openai:gpt-5', faults = {} }: Setting) {
  const beside = typeof files === 'string' ? { 'agent.yaml': files } : files;
  for (const [name, text] of Object.entries(beside)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    const known = window === null ? '' : `context_window: ${window}, `;
    const head = `model: { id: "${model}", ${known}native_compaction: auto }\n`;
    writeFileSync(join(directory, name), name === 'agent.yaml' ? `${head}${text}` : text);
  }
  Object.assign(server.faults, faults);
  setEnvironment();
  const told: string[] = [];
  const file = join(directory, 'agent.md' in beside ? 'agent.md' : 'agent.yaml');
  const { agent, store, close } = await openAgent(file, {
    trust: true,
    environment: environment(),
    project: directory,
    warn: (message) => told.push(message),
  });
  await checkInEditor(file, readFileSync(file, 'utf8'));
  const context = RuntimeContext.of({ sessionId: 's' });
  const session = await openSession(store, agent.keyOf(context));
  session.state.contextMutable().push(...talk);
  await session.commit();
  const events: AgentEvent[] = [];
  for await (const event of agent.stream(QUESTION, context)) events.push(event);
  const after = (await openSession(store, agent.keyOf(context))).state.context.slice(0, -1);
  const { capabilities } = agent;
  await close();

  const isAnswer = ({ body }: Taken) =>
    JSON.stringify(((body.input ?? body.messages) as readonly unknown[]).at(-1)).includes(`"${QUESTION}"`);
  const compacted = events.findLast((event) => event.type === 'context.compacted');
  const isApplied = compacted?.status === 'applied';
  return {
    /** Requests for summaries. */
    asked: server.taken.filter((taken) => !isAnswer(taken) && !taken.path.endsWith('/compact')),
    sent: server.taken.findLast(isAnswer)?.readable ?? '',
    compacted,
    used: isApplied ? compacted.stagesUsed : undefined,
    told,
    capabilities,
    events,
    after,
    /** Names of the tools that the model is offered. */
    tools: ((server.taken.at(-1)?.body.tools ?? []) as readonly { name: string }[]).map(({ name }) => name),
    /** Messages at the end of the talk that are there; a result keeps its call. */
    kept: [...talk].reverse().findIndex(({ id }, index) => after.at(-2 - index)?.id !== id),
  };
}
export type Run = Awaited<ReturnType<typeof run>>;

export const config = (words: string) => `features: { compaction: { ${words} } }`;
export const outputs = (after: readonly Message[]) =>
  after.filter(({ role }) => role === 'tool').map((message) => textOf(message));

export type Row = readonly [feature: string, setting: Setting, effect: (run: Run) => void];
export const applied = ({ used }: Run) => expect(used).toBeDefined();
export const nothing = ({ compacted, after }: Run) => {
  expect(compacted).toBeUndefined();
  expect(after.length).toBeGreaterThan(0);
};

export const small = (count: number) => talkOf(count, { output: 'ok, done as it was asked for' });
