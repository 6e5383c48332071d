import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { MemoryIndex } from '@x/memory';
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

interface Recall {
  readonly dataset: (typeof DATASETS)[number];
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

/**
 * Shows how often the memory's index finds the answers to questions about long conversations.
 *
 * @param options `data`: a folder with `qmsum.json.gz` and `bfcl-memory.json.gz`.
 */
export async function benchMemory({ data }: { readonly data?: string | undefined }): Promise<void> {
  if (data === undefined) return console.log('Skipped: pass --data DIR.');
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

/** Asks the questions about each conversation. Each turn is one line of the index. */
export async function measureRecall(directory: string): Promise<readonly Recall[]> {
  const results: Recall[] = [];
  for (const dataset of DATASETS) {
    const found: Awaited<ReturnType<typeof ask>>[] = [];
    for (const conversation of conversationsOf(directory, dataset)) found.push(await ask(conversation));
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
        conversations: half,
        questions: answers.length,
        hitAt1: share(({ hits }) => Number(hits[0] === true)),
        hitAt5: share(({ hits }) => Number(hits.slice(0, 5).includes(true))),
        hitAt10: share(({ hits }) => Number(hits.includes(true))),
        recallAt10: share(({ hits, evidence }) => hits.filter(Boolean).length / evidence),
      });
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
): Promise<{ readonly heldOut: boolean; readonly answers: readonly Answer[] }> {
  const index = await MemoryIndex.open(':memory:');
  for (const [session, { turns }] of conversation.sessions.entries()) {
    const lines = turns.map(({ speaker, text }) => `${speaker}: ${text.replace(/\s+/g, ' ')}`);
    await index.indexFromString(`${session}.md`, lines.join('\n'));
  }
  const answers: Answer[] = [];
  for (const { question, evidence } of conversation.questions) {
    if (evidence.length === 0) continue;
    const found = await index.search(question, { limit: LIMIT });
    const ids = found.map(
      ({ path, lineNumber }) =>
        conversation.sessions[Number.parseInt(path, 10)]?.turns[lineNumber - 1]?.id ?? '',
    );
    answers.push({ hits: ids.map((id) => evidence.includes(id)), evidence: new Set(evidence).size });
  }
  index.close();
  return { heldOut: isHeldOut(conversation.id), answers };
}

/** Returns whether a conversation is in the held-out half. The hash of its name decides, so that no conversation is in both halves. */
function isHeldOut(id: string): boolean {
  return ((createHash('sha256').update(id).digest()[0] ?? 0) & 1) === 1;
}
