import { type Message, SessionConflictError, SessionKey } from '@x/core';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { errorOf } from '../error-of.js';
import { randomNumbers } from '../random-numbers.js';
import { listed } from './listed.js';
import { numbered } from './sample-messages.js';
import type { StoreSuite } from './store-suite.js';

const SEEDS = [1, 2, 3];
const STEPS = 60;
const KEYS = ['a', 'b', 'A'].map((userId) => SessionKey.of({ userId, sessionId: 's' }));

interface Modelled {
  readonly version: number;
  readonly head: { readonly step: number };
  readonly messages: readonly Message[];
}

/** Any sequence of changes has the same outcome as on a plain list. */
export function randomChanges(suite: StoreSuite): void {
  describe('random changes', () => {
    for (const seed of SEEDS) {
      suite.test(`sequence ${seed} ends as on a plain list`, async (store) => {
        const below = randomNumbers(seed);
        const model = new Map<SessionKey, Modelled>();
        for (let step = 0; step < STEPS; step++) {
          const key = KEYS[below(KEYS.length)] as SessionKey;
          const old = model.get(key);
          const { version = 0, messages = [] } = old ?? {};
          switch (below(8)) {
            case 0:
              expect(await store.delete(key)).toBe(model.delete(key));
              break;
            case 1: {
              const stale = { expectedVersion: version + 1, head: { step }, keep: 0, append: [] };
              await errorOf(SessionConflictError, commitAt(store, key, stale));
              break;
            }
            default: {
              // Mostly turns that only add, as in life.
              const keep = below(3) === 0 ? below(messages.length + 1) : messages.length;
              const append = numbered(below(5), `${step}-`);
              const expectedVersion = below(4) === 0 ? 'latest' : version;
              const answer = await commitAt(store, key, { expectedVersion, head: { step }, keep, append });
              expect(answer).toBe(version + 1);
              model.set(key, {
                version: answer,
                head: { step },
                messages: [...messages.slice(0, keep), ...append],
              });
            }
          }
          const stored = await store.load(key);
          expect(stored && { ...stored, token: undefined, updatedAt: undefined }).toEqual(model.get(key));
        }
        expect(await listed(store)).toEqual([...model.keys()].map(String).sort());
      });
    }
  });
}
