import { assistantMessage, type ManifestEntry, type Message, toolResultMessage, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { type ReplayInput, replayConversation } from '../src/replay-conversation.js';
import { sendEverything } from '../src/strategies/baselines.js';
import type { ReplaySetting, Strategy } from '../src/strategy.js';

/** One token a letter: with its framing of 4, a message of n letters has n + 4. */
const counter = { name: 'letters', count: (text: string) => text.length };
const setting: ReplaySetting = {
  window: 60,
  peak: 0,
  trigger: 40,
  counter,
  system: 'about src/system.ts',
  overhead: 10,
};

const call = (text: string, input: string): Message =>
  assistantMessage([
    { type: 'text', text },
    { type: 'tool_use', id: 'c', name: 't', input },
  ]);
const messages = [
  userMessage('src/a.ts and src/b.ts'),
  assistantMessage('I see'),
  userMessage('go on'),
  call('', 'src/a.ts'),
  toolResultMessage({ id: 'c', name: 't' }, 'fine'),
  call('', 'src/b.ts'),
];
const probe = (token: string, callIndex: number) => ({ token, callIndex, lastIndex: 0, gapTokens: 9 });
const recording: ReplayInput = {
  messages,
  references: [probe('src/a.ts', 3), probe('src/b.ts', 5), probe('src/system.ts', 5)],
};

/** Replaces what stands before a model call, once. */
const once =
  (at: number, replace: (context: readonly Message[]) => readonly Message[], unlisted = false): Strategy =>
  () => {
    let calls = 0;
    return async (context) => {
      if (++calls !== at) return undefined;
      const after = replace(context);
      const gone = context.filter((message) => !after.includes(message));
      const manifest = gone.map(({ id }): ManifestEntry => ({ messageId: id, fate: 'dropped', stage: 'x' }));
      return { messages: after, manifest: unlisted ? [] : manifest };
    };
  };

describe('replayConversation', () => {
  it('prices what the request before began with as cached, and the rest as fresh', async () => {
    const result = await replayConversation(recording, sendEverything, setting);
    // Requests: 10 + 25 tokens; then 9 + 9 more; then 21 and 14 more.
    const [first, second, third] = [35, 35 + 9 + 9, 53 + (4 + 6 + 1 + 10) + (4 + 6 + 4)];
    expect(result.calls).toHaveLength(3);
    expect(result.largestRequest).toBe(third);
    expect(result.overflows).toBe(1);
    expect(1_000_000 * result.cost).toBeCloseTo(
      1.25 * first + (0.1 * first + 1.25 * (second - first)) + (0.1 * second + 1.25 * (third - second)),
    );
    expect(result.reductions).toBe(0);
    expect(result.references.every(({ retained }) => retained)).toBe(true);
  });

  it('pays for everything behind the first message that differs', async () => {
    const shortened = once(2, ([first, , last]) => [first, last] as Message[]);
    const result = await replayConversation(recording, shortened, setting);
    const [first, second, third] = [35, 35 + 9, 44 + 21 + 14];
    expect(1_000_000 * result.cost).toBeCloseTo(
      1.25 * first + (0.1 * 35 + 1.25 * 9) + (0.1 * second + 1.25 * (third - second)),
    );
  });

  it('keeps the system prompt in the cache and in sight whatever is reduced', async () => {
    const forgetful = once(3, (context) => context.slice(3));
    const result = await replayConversation(recording, forgetful, setting);
    const last = 10 + 21 + 14;
    expect(1_000_000 * result.cost).toBeCloseTo(
      1.25 * 35 + (0.1 * 35 + 1.25 * 18) + (0.1 * 10 + 1.25 * (last - 10)),
    );
    expect(result.references.map(({ token, retained }) => [token, retained])).toEqual([
      ['src/a.ts', true],
      ['src/b.ts', false],
      ['src/system.ts', true],
    ]);
  });

  it('counts separated pairs, and changes that no manifest lists', async () => {
    const torn = await replayConversation(
      recording,
      once(3, (context) => context.filter(({ role }) => role !== 'assistant'), true),
      setting,
    );
    expect(torn).toMatchObject({ reductions: 1, pairingViolations: 1, unaccounted: 2 });
  });

  it('lets others have the thread, and ends when it is told to', async () => {
    const stop = new AbortController();
    let calls = 0;
    const slow: Strategy = () => async () => {
      calls++;
      const until = performance.now() + 60;
      while (performance.now() < until);
      return undefined;
    };
    setImmediate(() => stop.abort(new Error('enough')));
    await expect(replayConversation(recording, slow, { ...setting, signal: stop.signal })).rejects.toThrow(
      'enough',
    );
    expect(calls).toBe(1);
  });

  it('does not take a name for kept because a longer one is there', async () => {
    const longer = once(2, ([, ...rest]) => [userMessage('src/a.tsx and lib_src/b.ts'), ...rest]);
    const { references } = await replayConversation(recording, longer, setting);
    expect(references.map(({ token, retained }) => [token, retained])).toEqual([
      ['src/a.ts', false],
      ['src/b.ts', false],
      ['src/system.ts', true],
    ]);
  });

  it('counts what a summarizer reads as uncached input', async () => {
    const reading =
      (tokens: number): Strategy =>
      () => {
        let calls = 0;
        return async (messages) =>
          ++calls === 2 ? { messages, manifest: [], summarizerTokens: tokens } : undefined;
      };
    const free = await replayConversation(recording, reading(0), setting);
    const paid = await replayConversation(recording, reading(1_000), setting);
    expect(1_000_000 * (paid.cost - free.cost)).toBeCloseTo(1_000);
  });
});
