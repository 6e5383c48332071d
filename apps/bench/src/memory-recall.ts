import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { AgentState, RuntimeContext, SessionKey, userMessage } from '@x/core';
import { LocalWorkspace, WorkspaceSessionLog } from '@x/core/node';
import { MemoryIndex, sessionHistory } from '@x/memory';
import MiniSearch from 'minisearch';
import * as z from 'zod';
import { measureSpeed } from './memory-speed.js';

const LIMIT = 10;
const DATASETS = ['bfcl-memory', 'qmsum'] as const;

const fileSchema = z.object({
  conversations: z.array(
    z.object({
      id: z.string(),
      sessions: z.array(
        z.object({ turns: z.array(z.object({ id: z.string(), speaker: z.string(), text: z.string() })) }),
      ),
      questions: z.array(z.object({ question: z.string(), evidence: z.array(z.string()) })),
    }),
  ),
});
type Conversation = z.infer<typeof fileSchema>['conversations'][number];

interface Turn {
  readonly id: string;
  readonly session: number;
  /** The number within the session, from 1. */
  readonly number: number;
  readonly line: string;
}

/** Returns the ids of the ten best turns. */
type Search = (question: string) => Promise<readonly string[]> | readonly string[];

interface Contender {
  readonly search: Search;
  close?(): void;
}

interface Recall {
  readonly dataset: (typeof DATASETS)[number];
  readonly contender: string;
  /** All conversations, those used to choose the parameters, or the others. */
  readonly conversations: 'all' | 'chosen on' | 'held out';
  readonly questions: number;
  /** Shares of the questions for which a turn with the answer is among the first hits. */
  readonly hitAt1: number;
  readonly hitAt5: number;
  readonly hitAt10: number;
  /** Mean share of the turns with the answer that are among the first ten hits. */
  readonly recallAt10: number;
}

const CONTENDERS: Readonly<Record<string, (turns: readonly Turn[]) => Promise<Contender> | Contender>> = {
  '@x/memory, index': ours,
  '@x/memory, no index': scan,
  minisearch,
};

/**
 * Shows how often the memory's index and its competitors find the answers to questions about long conversations.
 *
 * @param options `data`: a folder with `qmsum.json.gz` and `bfcl-memory.json.gz`.
 */
export async function benchMemory({ data }: { readonly data?: string | undefined }): Promise<void> {
  if (data === undefined) return console.log('Left out: it needs --data DIR.');
  console.table(
    (await measureRecall(data)).map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([key, value]) => [
          key,
          typeof value === 'number' ? Number(value.toPrecision(4)) : value,
        ]),
      ),
    ),
  );
  const conversations = DATASETS.flatMap((dataset) => conversationsOf(data, dataset));
  const texts = conversations.flatMap(({ sessions }) =>
    sessions.flatMap(({ turns }) => turns.map(({ text }) => text)),
  );
  await measureSpeed(
    texts,
    conversations.flatMap(({ questions }) => questions.map(({ question }) => question)),
  );
}

function conversationsOf(directory: string, dataset: string): readonly Conversation[] {
  const bytes = gunzipSync(readFileSync(join(directory, `${dataset}.json.gz`)));
  return fileSchema.parse(JSON.parse(bytes.toString('utf8'))).conversations;
}

/** Runs every contender on the questions about long conversations. Each turn is one line. No vectors are used. */
export async function measureRecall(directory: string): Promise<readonly Recall[]> {
  const results: Recall[] = [];
  for (const dataset of DATASETS) {
    const conversations = conversationsOf(directory, dataset);
    for (const [contender, open] of Object.entries(CONTENDERS)) {
      const found: Awaited<ReturnType<typeof ask>>[] = [];
      for (const conversation of conversations) found.push(await ask(conversation, open));
      for (const [half, wanted] of [
        ['all', undefined],
        ['chosen on', false],
        ['held out', true],
      ] as const) {
        const ranks = found.filter(({ heldOut }) => wanted === undefined || heldOut === wanted);
        const answers = ranks.flatMap(({ answers: some }) => some);
        if (answers.length === 0) continue;
        const share = (pick: (answer: Answer) => number) =>
          answers.reduce((sum, answer) => sum + pick(answer), 0) / answers.length;
        results.push({
          dataset,
          contender,
          conversations: half,
          questions: answers.length,
          hitAt1: share(({ hits }) => Number(hits[0] === true)),
          hitAt5: share(({ hits }) => Number(hits.slice(0, 5).includes(true))),
          hitAt10: share(({ hits }) => Number(hits.includes(true))),
          recallAt10: share(({ hits, evidence }) => hits.filter(Boolean).length / evidence),
        });
      }
    }
  }
  return results;
}

interface Answer {
  /** Whether each of the first ten hits contains the answer. */
  readonly hits: readonly boolean[];
  readonly evidence: number;
}

async function ask(
  conversation: Conversation,
  open: (turns: readonly Turn[]) => Promise<Contender> | Contender,
): Promise<{ readonly heldOut: boolean; readonly answers: readonly Answer[] }> {
  const turns = conversation.sessions.flatMap(({ turns: said }, session) =>
    said.map(({ id, speaker, text }, index) => ({
      id,
      session,
      number: index + 1,
      line: `${speaker}: ${text.replace(/\s+/g, ' ')}`,
    })),
  );
  const contender = await open(turns);
  const answers: Answer[] = [];
  for (const { question, evidence } of conversation.questions) {
    if (evidence.length === 0) continue;
    const found = await contender.search(question);
    answers.push({ hits: found.map((id) => evidence.includes(id)), evidence: new Set(evidence).size });
  }
  contender.close?.();
  return { heldOut: isHeldOut(conversation.id), answers };
}

/** Returns whether a conversation is in the held-out half. The hash of its name decides, so that no conversation is in both halves. */
function isHeldOut(id: string): boolean {
  return ((createHash('sha256').update(id).digest()[0] ?? 0) & 1) === 1;
}

async function ours(turns: readonly Turn[]): Promise<Contender> {
  const index = await MemoryIndex.open(':memory:');
  const sessions = bySession(turns);
  for (const [session, said] of sessions) {
    await index.indexFromString(`${session}.md`, said.map(({ line }) => line).join('\n'));
  }
  return {
    search: async (question) =>
      (await index.search(question, { limit: LIMIT })).map(
        ({ path, lineNumber }) => sessions.get(Number.parseInt(path, 10))?.[lineNumber - 1]?.id ?? '',
      ),
    close: () => index.close(),
  };
}

function bySession(turns: readonly Turn[]): ReadonlyMap<number, readonly Turn[]> {
  const sessions = new Map<number, Turn[]>();
  for (const turn of turns) sessions.set(turn.session, [...(sessions.get(turn.session) ?? []), turn]);
  return sessions;
}

/** Returns the contender `session_search`, the tool that reads the logs. */
async function scan(turns: readonly Turn[]): Promise<Contender> {
  const directory = mkdtempSync(join(tmpdir(), 'x-bench-'));
  const workspace = new LocalWorkspace(directory);
  const ids = new Map<string, string>();
  for (const { id, session, number } of turns) ids.set(`${session} ${number}`, id);
  for (const [session, said] of bySession(turns)) {
    const log = new WorkspaceSessionLog(workspace, SessionKey.of({ sessionId: String(session) }));
    await log.append(said.map(({ line }) => userMessage(line, { createdAt: '2026-01-01T00:00:00.000Z' })));
  }
  const tool = sessionHistory({ withoutUser: 'shared' }).tools?.find(
    ({ definition }) => definition.name === 'session_search',
  );
  const identity = { sessionId: 'asks' };
  return {
    async search(question) {
      const input = { query: question, limit: LIMIT };
      const output = await tool?.run(input, {
        call: { type: 'tool_use', id: 'call', name: 'session_search', input },
        idempotencyKey: 'key',
        runtime: RuntimeContext.of(identity),
        state: AgentState.create(identity),
        workspace,
        storage: workspace,
        log: new WorkspaceSessionLog(workspace, SessionKey.of(identity)),
        signal: new AbortController().signal,
      });
      const places = (output ?? [])
        .map((block) => (block.type === 'text' ? block.text : ''))
        .join('')
        .matchAll(/^session "(\d+)" #(\d+),/gm);
      return [...places].map(([, session, number]) => ids.get(`${session} ${number}`) ?? '');
    },
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}

function minisearch(turns: readonly Turn[]): Contender {
  const index = new MiniSearch<Turn>({ fields: ['line'] });
  index.addAll(turns);
  return {
    search: (question) =>
      index
        .search(question)
        .slice(0, LIMIT)
        .map(({ id }) => String(id)),
  };
}
