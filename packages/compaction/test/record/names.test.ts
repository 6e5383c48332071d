import { describe, expect, it } from 'vitest';
import { namesIn } from '../../src/record/names.js';

describe('the names in a text', () => {
  it.each([
    ['the file src/a.ts, and package.json', ['src/a.ts', 'package.json']],
    ['call getUserById or create_order', ['getUserById', 'create_order']],
    ['order #W3916020 of sofia.li@example.com', ['#W3916020', 'sofia.li@example.com']],
    ['an ordinary sentence, well-meant. Truly', []],
    ['C:\\temp\\new\\file.ts', ['file.ts']],
  ])('%s', (text, names) => expect(namesIn(text, false)).toEqual(names));

  it('are numbers where they were passed to a tool', () => {
    expect(namesIn('limit 120000, page 7', true)).toEqual(['120000']);
    expect(namesIn('limit 120000, page 7', false)).toEqual([]);
  });
});
