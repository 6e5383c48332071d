import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SearchQuery, TextScan } from '../../src/internal.js';

/** The texts that a query finds, the best first. */
function found(query: SearchQuery | string, texts: readonly string[]): readonly string[] {
  const scan = new TextScan<undefined>(typeof query === 'string' ? new SearchQuery(query) : query);
  for (const [number, text] of texts.entries()) scan.add({ file: 'a', number, text, item: undefined });
  return scan.best().map(({ text }) => text);
}

describe('keywords', () => {
  it('find texts with all of them before texts with some, and no neighbors', () => {
    const texts = ['red', 'red red red', 'a red thing that is also blue', 'nothing'];
    expect(found('red blue', texts)[0]).toBe('a red thing that is also blue');
    expect(found('red blue', texts)).toHaveLength(3);
  });

  it('may lack terms that no word of the query stands for', () => {
    const query = new SearchQuery('tea', { extra: ['_day'] });
    const scan = new TextScan<string>(query);
    scan.add({ file: 'a', number: 1, text: 'tea', item: 'another day' });
    scan.add({ file: 'a', number: 2, text: 'tea', extra: ['_day'], item: 'that day' });
    scan.add({ file: 'a', number: 3, text: 'coffee', extra: ['_other'], item: 'coffee' });
    expect(scan.best().map(({ item }) => item)).toEqual(['that day', 'another day']);
  });
});

describe('a question', () => {
  it('finds what stands behind its words, and in front of them only what has some of them itself', () => {
    const texts = ['good morning', 'the secret port is 7391', 'understood'];
    expect(found('what was the secret port', texts)).toEqual(['the secret port is 7391', 'understood']);
    expect(found('what was the secret port', ['is the port known', ...texts.slice(1)])).toHaveLength(3);
  });

  it('does not reach from one file into another', () => {
    const scan = new TextScan<string>(new SearchQuery('what was the secret port'));
    scan.add({ file: 'a', number: 1, text: 'the secret port is 7391', item: 'hit' });
    scan.add({ file: 'b', number: 2, text: 'understood', item: 'other file' });
    expect(scan.best().map(({ item }) => item)).toEqual(['hit']);
  });
});

describe('a name', () => {
  const texts = ['node-3 fails and fails', 'sub-node-17 fails', 'node-17 fails', 'node-170 fails'];

  it('is found as a whole, and its parts count nowhere else', () => {
    expect(found('node-17', texts)[0]).toBe('node-17 fails');
    const scan = new TextScan<string>(new SearchQuery('node-17'));
    for (const [number, text] of texts.entries()) scan.add({ file: 'a', number, text, item: text });
    expect(scan.best().filter(({ score }) => score > 0)).toHaveLength(1);
  });

  it('falls back on its parts if no text has it', () => {
    expect(found('node-99', texts)).toHaveLength(4);
  });

  it('is not what a hyphen joins of letters alone', () => {
    expect(found('long-term plan', ['long-term goals', 'a plan for a long term'])[0]).toBe(
      'a plan for a long term',
    );
  });
});

it('compares with a collection of which only some texts are added', () => {
  const query = new SearchQuery('common rare');
  const scan = new TextScan<string>(query, { lines: 1_000, averageLength: 1, counts: [900, 1] });
  scan.add({ file: 'a', number: 1, text: 'rare', item: 'rare' });
  scan.add({ file: 'a', number: 2, text: 'common', item: 'common' });
  expect(scan.best().map(({ item }) => item)).toEqual(['rare', 'common']);
});

it('keeps the best of any number of texts', () => {
  const texts = Array.from({ length: 25_000 }, (_, at) => (at === 7 ? 'red blue' : `red ${at}`));
  const hits = found('red blue', texts);
  expect(hits[0]).toBe('red blue');
  expect(hits.length).toBeLessThan(11_000);
});

it('never fails, whatever is searched for what', () => {
  const any = fc.string({ unit: 'binary', maxLength: 60 });
  fc.assert(
    fc.property(any, fc.array(any, { maxLength: 8 }), (query, texts) => {
      for (const text of found(query, texts)) expect(texts).toContain(text);
    }),
  );
});
