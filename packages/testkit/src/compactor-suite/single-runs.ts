import type { CompactionOutcome, CompactionReason, Message } from '@x/core';
import { expect } from 'vitest';
import type { CompactorSuite } from './compactor-suite.js';
import {
  assertAccounted,
  assertCurrent,
  assertPaired,
  assertReport,
  assertUntouched,
  assertWellFormed,
} from './laws.js';
import { randomConversation } from './random-conversation.js';

const REASONS: readonly CompactionReason[] = ['manual', 'proactive_budget', 'request_too_large'];
/** From far too small for anything, to far larger than every conversation of the suite. */
const WINDOWS = [64, 2_000, 8_000, 1_000_000];

type Law = (before: readonly Message[], outcome: CompactionOutcome) => void;

const LAWS: Readonly<Record<string, Law>> = {
  'keeps every call with its results': (_, outcome) => assertPaired(outcome.messages),
  'accounts for every message exactly once': assertAccounted,
  'gives back the very list when nothing was applied': assertUntouched,
  'keeps text well-formed': (_, outcome) => assertWellFormed(outcome.messages),
  'keeps the latest request and open calls word for word': assertCurrent,
  'reports what it did': assertReport,
};

/** What holds for one compaction of any conversation, for any window and reason. */
export function singleRuns(suite: CompactorSuite): void {
  for (const [name, law] of Object.entries(LAWS)) {
    suite.test(name, async (compactor) => {
      for (const seed of suite.seeds) {
        const messages = randomConversation(seed, { parts: 4 + (seed % 5) * 8, open: seed % 3 === 0 });
        const reason = REASONS[seed % REASONS.length] ?? 'manual';
        for (const contextWindow of WINDOWS) {
          law(messages, await compactor.compact(messages, { reason, contextWindow }));
        }
      }
    });
  }

  suite.test('never changes what it is given', async (compactor) => {
    for (const seed of suite.seeds) {
      const messages = randomConversation(seed);
      const before = structuredClone(messages);
      await compactor.compact(messages, { contextWindow: 4_000 });
      expect(messages).toEqual(before);
    }
  });

  suite.test('changes nothing by a plan', async (compactor) => {
    for (const seed of suite.seeds) {
      const messages = randomConversation(seed);
      const before = structuredClone(messages);
      const first = await compactor.plan(messages, { contextWindow: 4_000 });
      expect(messages).toEqual(before);
      const { status, tokensBefore, tokensAfter } = await compactor.plan(messages, { contextWindow: 4_000 });
      expect({ status, tokensBefore, tokensAfter }).toEqual({
        status: first.status,
        tokensBefore: first.tokensBefore,
        tokensAfter: first.tokensAfter,
      });
      assertReport(messages, first);
    }
  });

  suite.test('makes a conversation that is too long fit', async (compactor) => {
    const messages = randomConversation(7, { parts: 120 });
    const outcome = await compactor.compact(messages, { reason: 'request_too_large', contextWindow: 16_000 });
    expect(outcome.tokensBefore).toBeGreaterThan(16_000);
    expect(outcome).toMatchObject({ status: 'applied' });
    expect(outcome.tokensAfter).toBeLessThanOrEqual(16_000);
  });

  suite.test('gives back the very list when it is aborted', async (compactor) => {
    const messages = randomConversation(7, { parts: 120 });
    const signal = AbortSignal.abort(new Error('enough'));
    const outcome = await compactor.compact(messages, { contextWindow: 4_000, signal });
    expect(outcome.status).toBe('aborted');
    expect(outcome.messages).toBe(messages);
  });
}
