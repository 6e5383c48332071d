import type { AgentEvent, ContextUsage } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderCompactionCost, type Savings, savingsInWords, savingsOf } from '../../src/view/index.js';

const usage = (total: number): ContextUsage => ({
  system: 0,
  tools: 0,
  reminders: 0,
  summary: 0,
  conversation: total,
  toolResults: 0,
  total,
  contextWindow: 16_000,
});
const event = (body: object) => body as AgentEvent;
const request = (total: number) => event({ type: 'model.started', context: usage(total) });
const compacted = (tokensBefore: number, tokensAfter: number, status = 'applied') =>
  event({ type: 'context.compacted', status, tokensBefore, tokensAfter });
const narrated = (tokens: number) => event({ type: 'context.narrated', tokens });
const restored = (tokensBefore: number, tokensAfter: number) =>
  event({ type: 'context.restored', tokensBefore, tokensAfter });

describe('what compaction saved', () => {
  it('is the difference to a conversation of which nothing is ever removed', () => {
    // Plays a conversation twice: one that is compacted, and one that keeps everything.
    const move = fc.oneof(
      fc.record({ type: fc.constant('say' as const), tokens: fc.integer({ min: 1, max: 9_000 }) }),
      fc.record({ type: fc.constant('compact' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.record({ type: fc.constant('undo' as const) }),
    );
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
        const events: AgentEvent[] = [];
        const removed: number[] = [];
        let [now, whole] = [0, 0];
        let [sent, unreduced, requests] = [0, 0, 0];
        let overFrom: number | undefined;
        for (const one of moves) {
          if (one.type === 'say') {
            now += one.tokens;
            whole += one.tokens;
            sent += now;
            unreduced += whole;
            requests++;
            if (whole > 16_000) overFrom ??= requests;
            events.push(request(now));
          } else if (one.type === 'compact') {
            const after = Math.floor(now * one.share);
            removed.push(now - after);
            events.push(compacted(now, after), compacted(now, now - 1, 'skipped'));
            now = after;
          } else if (removed.length > 0) {
            const before = now;
            now += removed.pop() ?? 0;
            events.push(restored(before, now));
          }
        }
        expect(savingsOf(events)).toMatchObject({
          requests,
          sent,
          unreduced,
          overFrom,
          compactions: removed.length,
        });
      }),
    );
  });

  it('counts what the summaries themselves took as sent', () => {
    const usage = { inputTokens: 900, outputTokens: 100 };
    const spent = (source: string) => event({ type: 'usage.reported', source, usage });
    expect(savingsOf([request(10), spent('compaction'), spent('memory')])).toMatchObject({
      sent: 1_010,
      unreduced: 10,
    });
  });

  it('ends with an undo that also takes back the small reductions after a summary', () => {
    const compactions = [compacted(9_000, 2_000), compacted(3_000, 2_500)];
    const events = [...compactions, request(2_500), restored(2_500, 10_000), request(10_000)];
    expect(savingsOf(events)).toMatchObject({ sent: 12_500, unreduced: 20_000 });
  });

  it('counts no summaries of subagents, whose requests are not counted either', () => {
    const usage = { inputTokens: 900, outputTokens: 100 };
    const ofTask = event({ type: 'usage.reported', source: 'compaction', taskId: 't-1', usage });
    expect(savingsOf([request(10), ofTask]).sent).toBe(10);
  });

  it('is said in a line', () => {
    const events = [request(15_000), compacted(15_000, 5_000), request(9_000), request(11_000)];
    expect(savingsInWords(savingsOf(events))).toBe(
      'Without compaction: 55k tokens in 3 requests; the window is full at request 2. With compaction: 35k tokens, never full.',
    );
    expect(savingsInWords(savingsOf([request(1)]))).toBe('');
    const over: Savings = { requests: 3, sent: 40_000, unreduced: 50_000, over: 1, compactions: 1 };
    expect(savingsInWords(over)).toBe(
      'Without compaction: 50k tokens in 3 requests. With compaction: 40k tokens; requests above the window: 1.',
    );
    expect(savingsInWords({ ...over, over: 0 })).toBe(
      'Without compaction: 50k tokens in 3 requests. With compaction: 40k tokens.',
    );
  });
});

it('counts a narrative that came late to its compaction', () => {
  const events = [request(9_000), compacted(9_000, 2_000), narrated(500), request(2_500)];
  expect(savingsOf(events)).toMatchObject({ sent: 11_500, unreduced: 18_000, compactions: 1 });
  expect(savingsOf([...events, restored(2_500, 9_000), request(9_000)]).unreduced).toBe(27_000);
});

it.each([
  [{ modelCalls: 1, cost: 0.01234 }, 'compaction: 1 model call of 41k tokens, cost 0.012, saved 1.2M tokens'],
  [{ modelCalls: 2 }, 'compaction: 2 model calls of 41k tokens, saved 1.2M tokens'],
  [{ modelCalls: 0 }, 'compaction: saved 1.2M tokens'],
])('says what compactions cost: %o', (given, expected) => {
  const cost = { inputTokens: 40_000, outputTokens: 1_000, savedTokens: 1_200_000, ...given };
  expect(renderCompactionCost(cost)).toBe(expected);
});
