import { describe, expect } from 'vitest';
import type { WorkspaceSuite } from './workspace-suite.js';

const cases = [
  [{}, '0123456789'],
  [{ offset: 4 }, '456789'],
  [{ length: 3 }, '012'],
  [{ offset: 4, length: 3 }, '456'],
  [{ offset: 8, length: 9 }, '89'],
  [{ offset: 10 }, ''],
  [{ offset: 99, length: 1 }, ''],
  [{ length: 0 }, ''],
  [{ offset: 3, length: 0 }, ''],
] as const;

/** Parts of a file are read by bytes. */
export function ranges(suite: WorkspaceSuite): void {
  describe('ranges', () => {
    for (const [range, text] of cases) {
      suite.test(`${JSON.stringify(range)} of ten digits`, async (workspace) => {
        await workspace.write('digits', '0123456789');
        expect(Buffer.from(await workspace.read('digits', range)).toString()).toBe(text);
      });
    }

    suite.test('count bytes, not characters', async (workspace) => {
      await workspace.write('text', 'é漢');
      expect([...(await workspace.read('text', { offset: 1, length: 2 }))]).toEqual([0xa9, 0xe6]);
    });
  });
}
