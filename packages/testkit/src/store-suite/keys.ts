import { SessionKey, type SessionStore } from '@x/core';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { numbered } from './sample-messages.js';
import { listed, type StoreSuite } from './store-suite.js';

const LONG = 'long-'.repeat(120);

/** Ids that a careless store may confuse when it builds paths, patterns, queries or keys from them, by kind of attack. */
const groups: Readonly<Record<string, readonly string[]>> = {
  paths: '. .. ../.. ../s / // /etc/passwd a/b a\\b C: C:\\x a/ ~ -rf .locks'.split(' '),
  separators: ': a:b a: :a | , {a} # users context head.json sessions undefined null - 0'.split(' '),
  patterns: '* a* ? [a-z] % a% _ a_ ab abc \\% %2e %25 %u0041 %_'.split(' '),
  quotes: [
    ..."' \" ` $(a) {{a}} \\ \\' __proto__ constructor".split(' '),
    "' OR '1'='1",
    '"; DROP TABLE x; --',
  ],
  'control characters': [...'\n\t\u0001\u007f\u0085\u2028 \u00a0a', '\r\n', 'a\nb', 'a b', ' a', 'a '],
  'letters of other cases': 'A Alice alice ALICE ß SS ss İ i ı I CON con nul aux.txt'.split(' '),
  'forms of Unicode':
    'é e\u0301 Å \u212b A\u030a ﬁ fi ａ e 漢 🦀 👩‍💻 \u200b \ud83e \ud83d \udd80 \ufffd'.split(' '),
  length: [
    LONG,
    `${LONG}a`,
    `${LONG}b`,
    LONG.slice(0, -1),
    LONG.toUpperCase(),
    '漢'.repeat(600),
    `${'漢'.repeat(599)}字`,
    '.'.repeat(600),
  ],
};

/** Tests that every part of a key can be any string, and that no two keys collide. */
export function keys(suite: StoreSuite): void {
  describe('keys', () => {
    for (const [group, ids] of Object.entries(groups)) {
      suite.test(`ids that attack ${group} stay apart`, async (store) => {
        const parts = ids.flatMap((id) => [
          { sessionId: id },
          { userId: id, sessionId: 's' },
          { agentId: id, sessionId: 's' },
          { tenantId: id, sessionId: 's' },
        ]);
        const all = parts.map((part) => SessionKey.of(part));
        await assertApart(store, all);
        for (const id of ids) {
          for (const scope of [{ userId: id }, { agentId: id }, { tenantId: id }, { sessionId: id }]) {
            const expected = all.filter((key) => key.isWithin(scope)).map(String);
            expect(await listed(store, scope), JSON.stringify(scope)).toEqual(expected.sort());
          }
        }
      });
    }

    suite.test('keys with the same joined parts stay apart', async (store) => {
      const parts = ['/', ':', '%', '', '|', '\n'].flatMap((mark) => [
        { userId: `a${mark}b`, sessionId: `c${mark}` },
        { userId: 'a', sessionId: `b${mark}c${mark}` },
        { userId: `a${mark}b${mark}c`, sessionId: 's' },
        { userId: 'a', agentId: `b${mark}c`, sessionId: 's' },
        { tenantId: 'a', userId: `b${mark}c`, sessionId: 's' },
        { tenantId: `a${mark}b`, agentId: 'c', sessionId: 's' },
      ]);
      const distinct = new Map(parts.map((part) => [SessionKey.of(part).toString(), SessionKey.of(part)]));
      await assertApart(store, [...distinct.values()]);
    });
  });
}

/** Commits each key as a new session, and checks that each is loaded with its own data. */
async function assertApart(store: SessionStore, all: readonly SessionKey[]): Promise<void> {
  for (const [index, key] of all.entries()) {
    const append = numbered(1, `${index}-`);
    expect(await commitAt(store, key, { expectedVersion: 0, head: { index }, append })).toBe(1);
  }
  for (const [index, key] of all.entries()) {
    const stored = await store.load(key);
    expect(stored, key.toString()).toMatchObject({
      version: 1,
      head: { index },
      messages: numbered(1, `${index}-`),
    });
  }
  expect(await listed(store)).toEqual(all.map(String).sort());

  const deleted = all.filter((_, index) => index % 2 === 0);
  for (const key of deleted) expect(await store.delete(key)).toBe(true);
  for (const [index, key] of all.entries()) {
    const stored = await store.load(key);
    if (index % 2 === 0) expect(stored, key.toString()).toBeUndefined();
    else expect(stored?.head, key.toString()).toEqual({ index });
  }
  for (const key of deleted) await commitAt(store, key, { expectedVersion: 0 });
}
