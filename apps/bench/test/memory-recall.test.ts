import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { measureRecall } from '../src/memory-recall.js';

const QUESTIONS = 3;

it('finds the answers, and has no conversation on both sides', async () => {
  const data = mkdtempSync(join(tmpdir(), 'x-bench-'));
  onTestFinished(() => rmSync(data, { recursive: true, force: true }));
  const topics = ['heron', 'egret', 'stork'];
  const conversations = Array.from({ length: 8 }, (_, number) => ({
    id: `meeting ${number}`,
    sessions: [
      {
        turns: topics.map((topic, at) => ({
          id: `${at}`,
          speaker: 'Ann',
          text: `The ${topic} is at ${at}.`,
        })),
      },
    ],
    questions: topics.map((topic, at) => ({ question: `where is the ${topic} now?`, evidence: [`${at}`] })),
  }));
  for (const name of ['qmsum', 'bfcl-memory'])
    writeFileSync(join(data, `${name}.json.gz`), gzipSync(JSON.stringify({ conversations })));
  const rows = await measureRecall(data);
  for (const dataset of ['qmsum', 'bfcl-memory']) {
    const counts = ['all', 'chosen on', 'held out'].map((half) => {
      const of = rows.filter((row) => row.dataset === dataset && row.conversations === half);
      expect(of.map(({ hitAt1, recallAt10 }) => [hitAt1, recallAt10])).toEqual([[1, 1]]);
      return of[0]?.questions ?? 0;
    });
    const [all = 0, chosenOn = 0, heldOut = 0] = counts;
    expect(all).toBe(conversations.length * QUESTIONS);
    expect(chosenOn + heldOut).toBe(all);
    // The questions about one conversation stand together.
    expect([chosenOn % QUESTIONS, heldOut % QUESTIONS]).toEqual([0, 0]);
  }
});
