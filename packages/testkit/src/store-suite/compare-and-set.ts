import { InvalidInputError, SessionConflictError, SessionKey } from '@x/core';
import { operationId } from '@x/core/store';
import { describe, expect } from 'vitest';
import { commitAt } from '../commit-at.js';
import { errorOf } from '../error-of.js';
import { numbered } from './sample-messages.js';
import type { StoreSuite } from './store-suite.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });
const WRITERS = 10;

const bad = (block: object) => ({ content: [block] });
const CALL = { type: 'tool_use', id: 'c', name: 't' };
/** Messages that every store must reject, with the path of the invalid field. */
const BAD_MESSAGES: readonly (readonly [path: string, part: object])[] = [
  ['id', { id: undefined }],
  ['id', { id: '' }],
  ['role', { role: 'nobody' }],
  ['createdAt', { createdAt: undefined }],
  ['metadata', { metadata: null }],
  ['metadata.n', { metadata: { n: Number.NaN } }],
  ['content', { content: undefined }],
  ['content[0].type', bad({ type: 'video' })],
  ['content[0].text', bad({ type: 'text' })],
  ['content[0].input', bad(CALL)],
  ['content[0].input', bad({ ...CALL, input: () => 1 })],
  ['content[0].input.list[1]', bad({ ...CALL, input: { list: [1, undefined] } })],
  [
    'content[0].output[0]',
    bad({ type: 'tool_result', toolUseId: 'c', toolName: 't', isError: false, output: [1] }),
  ],
];

/** Tests that a commit succeeds only on the version that it was made for. */
export function compareAndSet(suite: StoreSuite): void {
  describe('compare and set', () => {
    // Long because it is a list of tests.
    suite.test('a commit to a session that was deleted and created again is rejected', async (store) => {
      await commitAt(store, key, { expectedVersion: 0, append: numbered(2) });
      const { token: expected } = (await store.load(key)) ?? {};
      await store.delete(key);
      await commitAt(store, key, { expectedVersion: 0, append: numbered(2, 'new') });
      const late = { operation: operationId(), expected, head: {}, keep: 2, append: numbered(1, 'late') };
      expect(await errorOf(SessionConflictError, store.commit(key, late))).toMatchObject({
        actualVersion: 1,
      });
      expect((await store.load(key))?.messages).toEqual(numbered(2, 'new'));
    });

    suite.test(
      'invalid messages, operations and heads are rejected, and nothing is written',
      async (store) => {
        await commitAt(store, key, { expectedVersion: 0, append: numbered(1) });
        const before = await store.load(key);
        const change = { operation: operationId(), expected: before?.token, head: {}, keep: 1, append: [] };
        const invalid: readonly (readonly [string, object])[] = [
          ...BAD_MESSAGES.map(
            ([path, part]) => [`append[0].${path}`, { append: [{ ...numbered(1)[0], ...part }] }] as const,
          ),
          ['append[0]', { append: ['text'] }],
          ['head.run', { head: { run: () => 1 } }],
          ['operation', { operation: 'a b' }],
          ['head', { head: [] }],
          ['keep', { keep: 0.5 }],
          ['keep', { keep: 2 ** 40 }],
        ];
        for (const [path, part] of invalid) {
          const commit = store.commit(key, { ...change, ...part } as never);
          const { issues } = await errorOf(InvalidInputError, commit);
          expect(issues.map((issue) => issue.path).join()).toContain(path);
        }
        expect(await store.load(key)).toEqual(before);
      },
    );

    suite.test('of concurrent writers, exactly one wins each version', async (store, reopen) => {
      const stores = suite.options.reopen === undefined ? [store] : [store, await reopen()];
      for (let version = 0; version < 3; version++) {
        const { token: expected } = (await store.load(key)) ?? {};
        const commits = Array.from({ length: WRITERS }, (_, writer) => {
          const append = numbered(1, `v${version}-w${writer}-`);
          const instance = stores[writer % stores.length] ?? store;
          return instance.commit(key, {
            operation: operationId(),
            expected,
            head: { writer },
            keep: version,
            append,
          });
        });
        const results = await Promise.allSettled(commits);
        const winners = results.flatMap((result, index) => (result.status === 'fulfilled' ? [index] : []));
        expect(winners).toHaveLength(1);
        for (const result of results) {
          if (result.status === 'rejected') expect(SessionConflictError.isInstance(result.reason)).toBe(true);
        }
        const stored = await store.load(key);
        expect(stored).toMatchObject({ version: version + 1, head: { writer: winners[0] } });
        expect(stored?.messages).toHaveLength(version + 1);
        expect(stored?.messages.at(-1)?.id).toBe(`v${version}-w${winners[0]}-0`);
      }
    });
  });
}
