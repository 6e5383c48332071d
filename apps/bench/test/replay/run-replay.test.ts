import { createCompactor } from '@x/compaction';
import { tiktokenCounter } from '@x/compaction/tiktoken';
import { withCompactor } from '@x/replay';
import { beforeAll, describe, expect, it } from 'vitest';
import { figuresOf } from '../../src/replay/figures.js';
import { reportReplay, toJson } from '../../src/replay/report.js';
import { type ReplayedConversation, runReplay, settingFor } from '../../src/replay/run-replay.js';
import { strategies } from '../../src/replay/strategies.js';
import { syntheticRecordings } from '../../src/replay/synthetic-recordings.js';

const counter = tiktokenCounter();
const setting = settingFor(32_000, counter);
const names = Object.keys(strategies);
const recordings = syntheticRecordings({ counter, conversations: 1, tokens: 45_000 });
let replayed: readonly ReplayedConversation[];
beforeAll(async () => {
  replayed = await runReplay(recordings, strategies, setting);
});
const figures = (name: string) => figuresOf(replayed, name);

describe('synthetic recordings', () => {
  it('are the same every time, with probes far back', () => {
    expect(syntheticRecordings({ counter, conversations: 1, tokens: 45_000 })).toEqual(recordings);
    for (const { probes } of recordings) {
      expect(probes.length).toBeGreaterThan(20);
      expect(Math.min(...probes.map(({ gapTokens }) => gapTokens))).toBeGreaterThanOrEqual(2_000);
    }
  });
});

describe('runReplay', () => {
  it('measures against sending everything, which loses nothing', () => {
    expect(replayed.every(({ reachesTrigger }) => reachesTrigger)).toBe(true);
    expect(figures('full')).toMatchObject({ cost: 1, reductions: 0, crossing: 0 });
    expect(figures('full').retained).toBe(figures('full').probes);
  });

  it.each(names)(
    'finds %s to keep calls with their results and to account for all that it changes',
    (name) => {
      expect(figures(name)).toMatchObject({ pairingViolations: 0, unaccounted: 0 });
    },
  );

  it('sees our compactor inside the window, and ahead of a tail in what it keeps', () => {
    const ours = figures('ours');
    expect(ours.reductions).toBeGreaterThan(0);
    expect(ours.overflows).toBe(0);
    expect(ours.cost).toBeLessThan(1);
    expect(ours.retained).toBeGreaterThan(figures('tail-20').retained);
  });

  it('replays our compactor as it comes, and gives every other one the same room for its summary', async () => {
    const untouched = withCompactor(() =>
      createCompactor({ model: null, contextWindow: setting.window, counter }),
    );
    const again = await runReplay(recordings, { untouched }, setting);
    expect({ ...figuresOf(again, 'untouched'), milliseconds: 0 }).toEqual({
      ...figures('ours'),
      milliseconds: 0,
    });
  });

  it('has probes of every kind that the conversations hold, and reports each', () => {
    const kinds = new Set(replayed.flatMap(({ recording }) => recording.probes.map(({ kind }) => kind)));
    expect(kinds).toContain('mention');
    expect(kinds).toContain('name');
    const text = reportReplay(replayed, names, setting);
    for (const title of [
      'names in inputs, by form',
      'values: names',
      'values: numbers',
      'values: short texts',
      'told: numbers',
    ]) {
      expect(text).toContain(title);
    }
  });

  it('comes to the same figures every time', async () => {
    const again = await runReplay(recordings, strategies, setting);
    for (const name of names) {
      expect({ ...figuresOf(again, name), milliseconds: 0 }).toEqual({ ...figures(name), milliseconds: 0 });
    }
  });
});

describe('reports', () => {
  it('show every domain by itself, never a mean alone', () => {
    const text = reportReplay(replayed, names, setting);
    for (const expected of ['synthetic-coding', 'synthetic-orders', 'mean of domains', ...names]) {
      expect(text).toContain(expected);
    }
    const { retained, probes } = figures('tail-20');
    expect(text).toContain((retained / probes).toFixed(3));
  });

  it('are data as well', () => {
    expect(JSON.parse(JSON.stringify(toJson(replayed, names, setting)))).toMatchObject({
      window: 32_000,
      trigger: 27_200,
      overhead: 10_000,
      strategies: names.map((name) => ({ name, all: { conversations: 2 } })),
    });
  });
});
