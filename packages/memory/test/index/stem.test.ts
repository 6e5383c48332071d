import Sqlite from 'better-sqlite3';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { stem } from '../../src/index/stem.js';

const WORDS = `caresses ponies ties cats feed agreed plastered motoring sing conflated troubled sized hopping falling
  hissing failing filing happy sky relational conditional rational digitizer conformably radically differently analogously
  vietnamization predication operator feudalism decisiveness hopefulness callousness formality sensitivity sensibility
  triplicate formative formalize electricity electrical hopeful goodness revival allowance inference airliner adjustable
  defensible irritant replacement adjustment dependent adoption communism activate angularity homologous effective
  bowdlerize probate rate cease controlling rolling apology archaeology database migrations yes eyes by`;

/** What SQLite's own stemmer makes of words. */
function sqliteStems(words: readonly string[]): string[] {
  const database = new Sqlite(':memory:');
  database.exec(`CREATE VIRTUAL TABLE words USING fts5 (word, tokenize = 'porter ascii');
    CREATE VIRTUAL TABLE stems USING fts5vocab (words, instance)`);
  const insert = database.prepare('INSERT INTO words (rowid, word) VALUES (?, ?)');
  for (const [index, word] of words.entries()) insert.run(index + 1, word);
  const stems = database.prepare<[], string>('SELECT term FROM stems ORDER BY doc').pluck().all();
  database.close();
  return stems;
}

it('makes the same stems as SQLite', () => {
  const words = WORDS.trim().split(/\s+/);
  expect(words.map(stem)).toEqual(sqliteStems(words));
});

it('makes the same stems as SQLite of any word with any endings', () => {
  const part = fc.stringMatching(/^[a-z]{1,5}$/);
  const ending = fc.constantFrom(
    '',
    's',
    'es',
    'ed',
    'ing',
    'ational',
    'izer',
    'ously',
    'iveness',
    'icate',
    'ness',
    'ment',
    'ion',
    'e',
    'll',
    'y',
    'ies',
  );
  const word = fc.tuple(part, ending, ending).map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 50 }), (words) => {
      expect(words.map(stem)).toEqual(sqliteStems(words));
    }),
  );
});

it('leaves other letters alone', () => {
  for (const word of ['naïves', 'игры', 'max_files', 'e1001s', '数据']) expect(stem(word)).toBe(word);
});
