import { describe, expect, it } from 'vitest';
import { Bm25Scan } from '../../src/index/bm25-scan.js';
import { parseQuery } from '../../src/index/search-query.js';

function rank(query: string, texts: readonly string[]): Bm25Scan<string> {
  const scan = new Bm25Scan<string>(parseQuery(query).terms);
  for (const text of texts) scan.add(text, () => text);
  return scan;
}

describe('Bm25Scan', () => {
  it('prefers rare words, short texts and repetition', () => {
    const common = Array.from({ length: 20 }, (_, index) => `the deployment number ${index}`);
    expect(rank('the migration', [...common, 'a migration']).best(1)).toEqual(['a migration']);
    expect(rank('migration', ['migration of one thing and another', 'migration']).best(1)).toEqual([
      'migration',
    ]);
    expect(rank('migration', ['migration one two', 'migration migration two']).best(1)).toEqual([
      'migration migration two',
    ]);
  });

  it('answers only what matches, of equals the last first, in pages', () => {
    const scan = rank('cat', ['cat 1', 'dog', 'cat 2', 'cat 3']);
    expect(scan.matched).toBe(3);
    expect(scan.best(2)).toEqual(['cat 3', 'cat 2']);
    expect(scan.best(2, 2)).toEqual(['cat 1']);
  });

  it('finds parts of Chinese sentences and single characters', () => {
    const texts = ['我们把数据库迁移到新服务器', '今天天气很好'];
    expect(rank('数据库', texts).best(5)).toEqual([texts[0]]);
    expect(rank('气', texts).best(5)).toEqual([texts[1]]);
  });

  it('keeps the best of very many matches', () => {
    const texts = Array.from({ length: 25_000 }, (_, index) => `word ${index}`);
    texts[3] = 'word word';
    const scan = rank('word', texts);
    expect(scan.best(1)).toEqual(['word word']);
    expect(scan.matched).toBe(25_000);
  });
});
