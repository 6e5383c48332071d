import type { CompactionOutcome, Message } from '@x/core';
import { pairingOf } from '@x/core/messages';
import {
  assertAccounted,
  assertCurrent,
  assertPaired,
  assertReport,
  assertUntouched,
  assertWellFormed,
} from '@x/test-support';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CompactionSettings, createCompactor } from '../../src/index.js';
import { conversations, longConversations, runs } from './conversations.js';
import { compactors } from './stages.js';

const reason = fc.constantFrom('manual', 'proactive_budget', 'request_too_large' as const);
const window = fc.oneof(fc.constantFrom(64, 2_000, 8_000, 200_000), fc.integer({ min: 64, max: 20_000 }));

function assertLaws(before: readonly Message[], outcome: CompactionOutcome): void {
  if (outcome.status === 'applied') assertPaired(outcome.messages);
  assertAccounted(before, outcome);
  assertWellFormed(outcome.messages);
  assertCurrent(before, outcome);
  assertUntouched(before, outcome);
  assertReport(before, outcome);
}

describe.each(Object.entries(compactors))('%s', { timeout: 300_000 }, (_, config) => {
  it('keeps calls with results, accounts for everything, cuts no character, and keeps what is current', async () => {
    await fc.assert(
      fc.asyncProperty(conversations, window, reason, async (messages, contextWindow, why) => {
        const compactor = createCompactor({ ...config(), contextWindow });
        assertLaws(messages, await compactor.compact(messages, { reason: why }));
      }),
      runs(15),
    );
  });

  it('holds all that over five compactions, loses track of nothing, and ends', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(conversations, { minLength: 5, maxLength: 5 }),
        window,
        async (parts, contextWindow) => {
          const compactor = createCompactor({ ...config(), contextWindow });
          const gone = new Set<string>();
          let context: readonly Message[] = [];
          for (const part of parts) {
            const before = [...withoutOpenCalls(context), ...part];
            const outcome = await compactor.compact(before, { reason: 'proactive_budget' });
            assertLaws(before, outcome);
            for (const { messageId } of outcome.manifest) gone.add(messageId);
            context = outcome.messages;
          }
          const there = new Set(context.map((message) => message.id));
          const missing = parts.flatMap(withoutOpenCalls).filter(({ id }) => !there.has(id) && !gone.has(id));
          expect(missing).toEqual([]);

          // Without anything new there comes an end.
          let runsLeft = 12;
          for (; runsLeft > 0; runsLeft--) {
            const outcome = await compactor.compact(context, { reason: 'proactive_budget' });
            if (outcome.status !== 'applied') break;
            context = outcome.messages;
          }
          expect(runsLeft).toBeGreaterThan(0);
        },
      ),
      runs(5),
    );
  });
});

describe('every cut', { timeout: 300_000 }, () => {
  it('separates no call from its result, whatever is to be kept', async () => {
    await fc.assert(
      fc.asyncProperty(longConversations, fc.boolean(), async (messages, written) => {
        let applied = 0;
        for (let keepMessages = 0; keepMessages <= messages.length; keepMessages++) {
          const strategy = compactors[written ? 'summarize' : 'the record alone']?.() as CompactionSettings;
          const compactor = createCompactor({
            ...strategy,
            stages: ['summarize', 'drop_oldest'],
            keep: { messages: keepMessages },
          });
          const outcome = await compactor.compact(messages);
          assertLaws(messages, outcome);
          if (outcome.status === 'applied') applied++;
        }
        expect(applied).toBeGreaterThan(0);
      }),
      runs(4),
    );
  });
});

/** Between parts, calls that wait for results are dropped: nobody answers them any more. */
function withoutOpenCalls(messages: readonly Message[]): readonly Message[] {
  return pairingOf(messages).groups.flatMap(({ start, end, open }) =>
    open ? [] : messages.slice(start, end),
  );
}
