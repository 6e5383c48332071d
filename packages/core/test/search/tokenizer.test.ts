import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Tokenizer } from '../../src/internal.js';

const exact = new Tokenizer((word) => word);

describe('the terms of a text', () => {
  it.each([
    ['The café, naïve', ['the', 'cafe', 'naive']],
    ['ＦＵＬＬ width ﬁx', ['full', 'width', 'fix']],
    ['getWeather', ['getweather', 'get', 'weather']],
    ['HTTPServer', ['httpserver', 'http', 'server']],
    ['MAX_FILE_SIZE', ['max_file_size', 'max', 'file', 'size']],
    ['src/index.ts:12', ['src', 'index', 'ts', '12']],
    ['数据库', ['数', '数据', '据', '据库', '库']],
    ['用PostgreSQL数据', ['用', 'postgresql', 'postgre', 'sql', '数', '数据', '据']],
    ['ガラス', ['ガ', 'ガラ', 'ラ', 'ラス', 'ス']],
    ['한국', ['한', '한국', '국']],
    ['𠮷野家', ['𠮷', '𠮷野', '野', '野家', '家']],
    ['"AND" OR * NEAR(', ['and', 'or', 'near']],
    ['… — !', []],
  ])('of %s', (text, terms) => {
    expect(exact.terms(text)).toEqual(terms);
  });

  it('shortens what is no word', () => {
    expect(exact.terms('a'.repeat(10_000))).toEqual(['a'.repeat(64)]);
  });
});

describe('the words of a query', () => {
  it('are whole names, pairs of characters, and characters that stand alone', () => {
    const words = exact.query('getWeather 库 数据库 getweather');
    expect([...words.keys()]).toEqual(['getweather', '库', '数据', '据库']);
  });

  it('finds every text that contains the query', () => {
    const part = fc.string({ unit: 'binary', maxLength: 8 });
    const sentence = fc.constantFrom(
      '数据库迁移',
      'database migration',
      '東京タワー',
      'naïve café',
      '고양이',
    );
    fc.assert(
      fc.property(part, sentence, part, (before, query, after) => {
        const terms = new Set(exact.terms(`${before} ${query} ${after}`));
        for (const term of exact.query(query).values()) expect(terms.has(term)).toBe(true);
      }),
    );
  });

  it('finds any stretch of an unspaced text', () => {
    const text = '数据库迁移到新的服务器';
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.integer({ min: 1, max: 6 }), (start, length) => {
        const terms = exact.terms(text);
        for (const term of exact.query(text.slice(start, start + length)).values())
          expect(terms).toContain(term);
      }),
    );
  });
});

it('keeps the beginning of words in any language, and numbers and names as they are', () => {
  const words = ['Migrationen', 'игрушки', 'e100199', 'max_files', 'cat'];
  expect(words.flatMap((word) => [...new Tokenizer().query(word).values()])).toEqual([
    'migra',
    'игруш',
    'e100199',
    'max_files',
    'cat',
  ]);
});
