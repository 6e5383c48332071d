import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { MemoryIndex } from '@x/memory';
import { z } from 'zod';

const LIMIT = 10;
/** hit@10 of plain BM25 on single turns. */
const FLOOR = { 'bfcl-memory': 0.952, qmsum: 0.831 } as const;
type Dataset = keyof typeof FLOOR;

const fileSchema = z.object({
  conversations: z.array(
    z.object({
      sessions: z.array(
        z.object({ turns: z.array(z.object({ id: z.string(), speaker: z.string(), text: z.string() })) }),
      ),
      questions: z.array(z.object({ question: z.string(), evidence: z.array(z.string()) })),
    }),
  ),
});

export interface Recall {
  readonly dataset: Dataset;
  readonly questions: number;
  /** Share of the questions of which a turn that holds the answer is among the first ten hits. */
  readonly hitAt10: number;
  /** The same for the half on which parameters were chosen, and for the other one. */
  readonly chosenOn: number;
  readonly heldOut: number;
  readonly floor: number;
}

/** Asks questions about long conversations, whose turns are indexed one a line; no vectors. */
export async function measureRecall(directory: string): Promise<readonly Recall[]> {
  const results: Recall[] = [];
  for (const dataset of Object.keys(FLOOR) as Dataset[]) results.push(await measure(directory, dataset));
  return results;
}

async function measure(directory: string, dataset: Dataset): Promise<Recall> {
  const bytes = gunzipSync(readFileSync(join(directory, `${dataset}.json.gz`)));
  const { conversations } = fileSchema.parse(JSON.parse(bytes.toString('utf8')));
  const chosenOn = { hits: 0, questions: 0 };
  const heldOut = { hits: 0, questions: 0 };
  for (const { sessions, questions } of conversations) {
    const index = await MemoryIndex.open(':memory:');
    const idOf = new Map<string, string>();
    for (const [session, { turns }] of sessions.entries()) {
      const path = `session-${session}.md`;
      const lines = turns.map(({ id, speaker, text }, turn) => {
        idOf.set(`${path}:${turn + 1}`, id);
        return `${speaker}: ${text.replace(/\s+/g, ' ')}`;
      });
      await index.indexFromString(path, lines.join('\n'));
    }
    for (const { question, evidence } of questions) {
      if (evidence.length === 0) continue;
      const found = await index.search(question, { limit: LIMIT });
      const isHit = found.some(({ path, lineNumber }) =>
        evidence.includes(idOf.get(`${path}:${lineNumber}`) ?? ''),
      );
      const half = isHeldOut(question) ? heldOut : chosenOn;
      half.questions++;
      if (isHit) half.hits++;
    }
    index.close();
  }
  const questions = chosenOn.questions + heldOut.questions;
  return {
    dataset,
    questions,
    hitAt10: (chosenOn.hits + heldOut.hits) / questions,
    chosenOn: chosenOn.hits / chosenOn.questions,
    heldOut: heldOut.hits / heldOut.questions,
    floor: FLOOR[dataset],
  };
}

/** Half of the questions, by a hash of their text. */
function isHeldOut(question: string): boolean {
  return ((createHash('sha256').update(question).digest()[0] ?? 0) & 1) === 1;
}
