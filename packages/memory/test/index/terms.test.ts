import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { indexTermsOf, queryTermsOf, stem } from '../../src/index/terms.js';

describe('indexTermsOf', () => {
  it.each([
    ['The café, naïve', ['the', 'cafe', 'naive']],
    ['ＦＵＬＬ width ﬁx', ['full', 'width', 'fix']],
    ['getWeather', ['getweather', 'get', 'weather']],
    ['HTTPServer', ['httpserver', 'http', 'server']],
    ['MAX_FILE_SIZE', ['max_file_size', 'max', 'file', 'size']],
    ['src/index.ts:12', ['src', 'index', 'ts', '12']],
    ['数据库', ['数据', '据库', '库']],
    ['用PostgreSQL数据', ['用', 'postgresql', 'postgre', 'sql', '数据', '据']],
    ['ガラス', ['ガラ', 'ラス', 'ス']],
    ['한국', ['한국', '국']],
    ['𠮷野家', ['𠮷野', '野家', '家']],
    ['"AND" OR * NEAR(', ['and', 'or', 'near']],
    ['… — !', []],
  ])('of %s', (text, terms) => {
    expect(indexTermsOf(text)).toEqual(terms.map(stem));
  });

  it('shortens what is no word', () => {
    expect(indexTermsOf('a'.repeat(10_000))).toEqual(['a'.repeat(64)]);
  });
});

describe('queryTermsOf', () => {
  it('takes names whole, and one character alone as a beginning', () => {
    expect(queryTermsOf('getWeather 库 getweather')).toEqual([
      { text: 'getweather', prefix: false },
      { text: '库', prefix: true },
    ]);
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
        const terms = indexTermsOf(`${before} ${query} ${after}`);
        for (const { text, prefix } of queryTermsOf(query)) {
          expect(terms.some((term) => (prefix ? term.startsWith(text) : term === stem(text)))).toBe(true);
        }
      }),
    );
  });

  it('finds any stretch of an unspaced text', () => {
    const text = '数据库迁移到新的服务器';
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.integer({ min: 1, max: 6 }), (start, length) => {
        const terms = indexTermsOf(text);
        for (const { text: term, prefix } of queryTermsOf(text.slice(start, start + length))) {
          expect(
            terms.some((candidate) => (prefix ? candidate.startsWith(term) : candidate === stem(term))),
          ).toBe(true);
        }
      }),
    );
  });
});

it('finds the stems of English words, and leaves other letters alone', () => {
  expect(['migrations', 'databases', 'electricity', 'as'].map(stem)).toEqual([
    'migrat',
    'databas',
    'electr',
    'as',
  ]);
  for (const word of ['naïves', 'игры', 'max_files', 'e1001s', '数据']) expect(stem(word)).toBe(word);
});
