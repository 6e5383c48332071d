import type { Message } from '@x/core';
import { expect } from 'vitest';
import type { CompactorSuite } from './compactor-suite.js';
import { assertAccounted, assertPaired } from './laws.js';
import { randomConversation } from './random-conversation.js';

const LENGTH = 4;
const WINDOW = 6_000;
/** Compactions without a new message in between, after which there must be nothing left to do. */
const PATIENCE = 12;

/** What holds over compactions of one conversation that goes on between them. */
export function chains(suite: CompactorSuite): void {
  suite.test('loses track of no message over a chain', async (compactor) => {
    for (const seed of suite.seeds) {
      let context: readonly Message[] = [];
      const gone = new Set<string>();
      const given = new Set<string>();
      for (let link = 0; link < LENGTH; link++) {
        const added = randomConversation(seed * 10 + link, { parts: 12 });
        for (const message of added) given.add(message.id);
        const before = [...context, ...added];
        const outcome = await compactor.compact(before, {
          reason: 'proactive_budget',
          contextWindow: WINDOW,
        });
        assertPaired(outcome.messages);
        assertAccounted(before, outcome);
        for (const { messageId } of outcome.manifest) gone.add(messageId);
        context = outcome.messages;
      }
      const there = new Set(context.map((message) => message.id));
      expect([...given].filter((id) => !there.has(id) && !gone.has(id))).toEqual([]);
    }
  });

  suite.test('does not bring back what it took out', async (compactor) => {
    for (const seed of suite.seeds) {
      const first = randomConversation(seed, { parts: 40 });
      const options = { reason: 'proactive_budget', contextWindow: WINDOW } as const;
      const reduced = await compactor.compact(first, options);
      const gone = new Set(reduced.manifest.map((entry) => entry.messageId));
      const more = randomConversation(seed + 1_000, { parts: 2 });
      const { messages } = await compactor.compact([...reduced.messages, ...more], options);
      const original = new Map(first.map((message) => [message.id, JSON.stringify(message)]));
      const back = messages.filter(
        (message) => gone.has(message.id) && original.get(message.id) === JSON.stringify(message),
      );
      expect(back.map((message) => message.id)).toEqual([]);
    }
  });

  suite.test('ends: what it made smaller is not due again and again', async (compactor) => {
    for (const seed of suite.seeds) {
      let context = randomConversation(seed, { parts: 40 });
      let runs = 0;
      for (; runs < PATIENCE; runs++) {
        const outcome = await compactor.compact(context, {
          reason: 'proactive_budget',
          contextWindow: WINDOW,
        });
        if (outcome.status !== 'applied') break;
        context = outcome.messages;
      }
      expect(runs).toBeLessThan(PATIENCE);
    }
  });
}
