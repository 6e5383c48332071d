import { expect, test } from 'vitest';
import { RecentMap } from '../../src/lib/recent-map.js';

test('RecentMap keeps the entries that were set last', () => {
  const map = new RecentMap<string, number>(2).set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});
