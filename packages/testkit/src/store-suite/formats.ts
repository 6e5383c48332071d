import { SessionKey, type SessionStore } from '@x/core';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { numbered } from './sample-messages.js';
import { listed, type StoreSuite } from './store-suite.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });

/** Tests that data of another format is rejected and left unchanged. */
export function formats(suite: StoreSuite): void {
  const { setFormat, reopen } = suite.options;
  if (setFormat === undefined) return;
  describe('formats', () => {
    for (const [format, code] of [
      [0, 'session_older'],
      [2, 'session_newer'],
    ] as const) {
      suite.test(`what has format ${format} is refused as ${code}, and nothing changes`, async (store) => {
        await commitAt(store, key, { expectedVersion: 0, head: { n: 1 }, append: numbered(2) });
        const before = (await store.load(key)) as NonNullable<Awaited<ReturnType<SessionStore['load']>>>;
        await setFormat(key, format);
        const change = { operation: 'another-process_', head: { n: 2 }, keep: 0, append: [] };
        const operations: readonly ((opened: SessionStore) => Promise<unknown>)[] = [
          (opened) => opened.load(key),
          (opened) => opened.commit(key, { ...change, expected: before.token }),
          (opened) => opened.commit(key, { ...change, expected: undefined }),
          listed,
        ];
        for (const operation of operations) {
          // A store may already reject the format when it is opened.
          const use = async () => {
            const opened = (await reopen?.()) ?? store;
            try {
              await operation(opened);
            } finally {
              if (opened !== store) await opened.close();
            }
          };
          await expect(use()).rejects.toMatchObject({
            code,
            outcome: 'none',
            message: expect.stringMatching(new RegExp(`format ${format}, .* reads format 1\\.`)),
          });
        }
        await setFormat(key, 1);
        expect(await store.load(key)).toEqual(before);
      });
    }
  });
}
