import { createCompactor } from '@x/compaction';
import { assistantMessage, estimateCounter, type Message, toolResultMessage, userMessage } from '@x/core';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Comparison,
  compareStrategies,
  keepTail,
  maskOutputs,
  parsePrices,
  type RecordedConversation,
  ReplayError,
  replayHtml,
  replayReport,
  replayTable,
  withCompactor,
} from '../src/index.js';
import { findLongRangeReferences } from '../src/references.js';

/** An agent that reads sixty files and returns to the first. */
function survey(): readonly Message[] {
  const messages: Message[] = [userMessage('Survey <b>all</b> modules.', { id: 'asked' })];
  const read = (name: string, id: string) => {
    const call = {
      type: 'tool_use',
      id,
      name: 'read_file',
      input: { path: `src/${name}/index.ts` },
    } as const;
    messages.push(
      assistantMessage([call], { id: `a-${id}` }),
      toolResultMessage(call, `export const ${name} = 1;\n`.repeat(60), { id: `r-${id}` }),
    );
  };
  for (let index = 0; index < 60; index++) read(`module${index}`, `call-${index}`);
  read('module0', 'again');
  messages.push(assistantMessage('All read.', { id: 'done' }));
  return messages;
}

const conversation: RecordedConversation = {
  format: 'test',
  id: 'a survey <script>alert(1)</script>',
  messages: survey(),
  usage: [],
  compactions: [],
  unread: { 'line that is not valid JSON': 2 },
};

let comparison: Comparison;

beforeAll(async () => {
  comparison = await compareStrategies(
    conversation,
    {
      tail: keepTail(10),
      mask: maskOutputs(5),
      ours: withCompactor(({ window, counter }) =>
        createCompactor({
          model: null,
          contextWindow: window,
          counter,
        }),
      ),
    },
    { window: 24_000 },
  );
});

it('finds what a call takes from far back', () => {
  const references = findLongRangeReferences(conversation.messages, estimateCounter);
  expect(references.map(({ token }) => token)).toContain('src/module0/index.ts');
  expect(Math.min(...references.map(({ gapTokens }) => gapTokens))).toBeGreaterThanOrEqual(2_000);
});

describe('a comparison', () => {
  it('counts what a strategy lost', () => {
    const { everything, strategies } = comparison;
    expect(everything.references.every(({ retained }) => retained)).toBe(true);
    expect(strategies.tail?.references.some(({ retained }) => !retained)).toBe(true);
    expect(strategies.ours?.references.every(({ retained }) => retained)).toBe(true);
  });

  it('bills by the prefix that two requests share', () => {
    const { everything, strategies, setting } = comparison;
    expect(everything.calls[0]?.cached).toBe(0);
    expect(everything.calls[1]?.cached).toBe(everything.calls[0]?.request);
    expect(everything.overflows).toBeGreaterThan(0);
    expect(strategies.ours?.overflows).toBe(0);
    expect(strategies.ours?.largestRequest).toBeLessThanOrEqual(setting.window);
    expect(strategies.ours?.cost).toBeLessThan(everything.cost);
  });

  it('never breaks a pair, and accounts for every message', () => {
    for (const result of Object.values(comparison.strategies)) {
      expect(result.pairingViolations).toBe(0);
      expect(result.unaccounted).toBe(0);
    }
  });

  it('costs nothing for free tokens, and the sum of its calls otherwise', async () => {
    const prices = parsePrices({ input: 3, output: 15 });
    const { everything } = await compareStrategies(conversation, {}, { window: 24_000, prices });
    const [first] = everything.calls;
    expect(first?.cost).toBeCloseTo(((first?.request ?? 0) * 3.75 + (first?.output ?? 0) * 15) / 1_000_000);
    const free = parsePrices({ input: 0 });
    expect(
      (await compareStrategies(conversation, {}, { window: 24_000, prices: free })).everything.cost,
    ).toBe(0);
  });

  it('needs an answer to replay', async () => {
    const silent = { ...conversation, messages: conversation.messages.slice(0, 1) };
    await expect(compareStrategies(silent, {}, { window: 24_000 })).rejects.toThrow(ReplayError);
  });
});

describe('prices', () => {
  it.each([{ input: -1 }, { output: 1 }, { input: 1, outptu: 2 }, 'cheap'])('refuse %j', (value) => {
    expect(() => parsePrices(value)).toThrow(/prices/);
  });
});

it('replays in half of what the recording would need whole, unless a window is given', async () => {
  const { setting, everything } = await compareStrategies(conversation, {}, { systemTokens: 100 });
  expect(setting.peak).toBe(everything.largestRequest);
  expect(setting.window).toBe(1_000 * Math.ceil(everything.largestRequest / 2_000));
});

it('names each strategy before it replays it, for those who wait', async () => {
  const steps: string[] = [];
  const onStrategy = (name: string, place: number) => void steps.push(`${place} ${name}`);
  await compareStrategies(conversation, { tail: keepTail(10), mask: maskOutputs(5) }, { onStrategy });
  expect(steps).toEqual(['1 tail', '2 mask']);
});

describe('reports', () => {
  it('are a table of one row a strategy', () => {
    const rows = replayTable([comparison, comparison], { currency: 'USD' }).split('\n');
    expect(rows.map((row) => row.split(' ')[0])).toEqual(['strategy', 'everything', 'tail', 'mask', 'ours']);
    expect(rows[1]).toContain('100.0 %');
  });

  it('leave out of a narrow window what matters least, and say so', () => {
    const whole = replayTable([comparison]);
    expect(replayTable([comparison], { width: 80 })).toBe(whole);
    const lines = replayTable([comparison], { width: 40 }).split('\n');
    expect(lines[0]).toMatch(/^strategy +kept/);
    expect(lines.at(-1)).toMatch(/^Not shown in a narrow terminal: reduced, largest, /);
    expect(Math.max(...lines.slice(0, -1).map(({ length }) => length))).toBeLessThanOrEqual(40);
    expect(replayTable([comparison], { width: 1 })).toMatch(/^strategy +kept\n/);
  });

  it('are data that says what was lost', () => {
    const report = replayReport([comparison]);
    expect(JSON.parse(JSON.stringify(report))).toMatchObject({
      conversations: [{ messages: 124, window: 24_000 }],
    });
    expect(report.conversations[0]?.lost.tail).toContain('src/module0/index.ts');
    expect(report.conversations[0]?.lost.ours).toEqual([]);
  });

  it('are a page without script or address, whatever the recording holds', () => {
    const page = replayHtml([comparison], { title: 'A & B' });
    expect(page).not.toMatch(/<script|https?:|src=|@import/i);
    expect(page).toContain('a survey &lt;script&gt;');
    expect(page).toContain('<title>A &amp; B</title>');
    expect(page.match(/<path /g)).toHaveLength(4);
    expect(page).not.toContain('NaN');
  });
});
