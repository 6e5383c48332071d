import { createCompactor } from '@x/compaction';
import { tiktokenCounter } from '@x/compaction/tiktoken';
import { assistantMessage, type Message, toolResultMessage, userMessage } from '@x/core';
import { withCompactor } from '@x/replay';
import { findLongRangeReferences } from '@x/replay/internal';
import { beforeAll, describe, expect, it } from 'vitest';
import { figuresOf } from '../../src/replay/figures.js';
import type { Recording } from '../../src/replay/read-recordings.js';
import { reportReplay } from '../../src/replay/report.js';
import { type ReplayedConversation, runReplay, settingFor } from '../../src/replay/run-replay.js';
import { strategies } from '../../src/replay/strategies.js';

const counter = tiktokenCounter();
const setting = settingFor(32_000, counter);
const names = Object.keys(strategies);
const FILES = 60;
const recordings = ['coding', 'orders'].map(recordingOf);
let replayed: readonly ReplayedConversation[];
beforeAll(async () => {
  replayed = await runReplay(recordings, strategies, setting);
});
const figures = (name: string) => figuresOf(replayed, name);

/** A conversation that looks at one thing after the other, and comes back to an early one at every third step. */
function recordingOf(domain: string): Recording {
  const messages: Message[] = [userMessage(`Work through the open ${domain}.`, stamp(domain, 0))];
  const call = (name: string, input: Record<string, string>, output: string) => {
    const use = { id: `${domain}-${messages.length}`, name };
    messages.push(
      assistantMessage([{ type: 'tool_use', ...use, input }], stamp(domain, messages.length)),
      toolResultMessage(use, output, stamp(domain, messages.length + 1)),
    );
  };
  const pathOf = (file: number) => `src/${domain}/part-${file}.ts`;
  for (let file = 0; file < FILES; file++) {
    const lines = Array.from({ length: 120 }, (_, line) => `${domain} has words in line ${line}`);
    call('read_file', { path: pathOf(file) }, `export const ${domain}Value${file} = 1;\n${lines.join('\n')}`);
    if (file % 3 === 2)
      call('edit_file', { path: pathOf(file >> 1), find: `${domain}Value${file >> 1}` }, 'ok');
  }
  const probes = findLongRangeReferences(messages, counter);
  return { name: domain, domain, source: 'made up', system: '', messages, probes };
}

function stamp(domain: string, number: number) {
  return { id: `${domain}-${number}`, createdAt: '2026-01-01T00:00:00.000Z' };
}

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
    for (const expected of ['coding', 'orders', 'mean of domains', ...names]) {
      expect(text).toContain(expected);
    }
    const { retained, probes } = figures('tail-20');
    expect(text).toContain((retained / probes).toFixed(3));
  });
});
