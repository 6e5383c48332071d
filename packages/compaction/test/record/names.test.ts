import { describe, expect, it } from 'vitest';
import { namesIn } from '../../src/record/names.js';

describe('the names in a text', () => {
  it.each([
    ['the file src/a.ts, and package.json', ['src/a.ts', 'package.json']],
    ['call getUserById or create_order', ['getUserById', 'create_order']],
    ['order #W3916020 of sofia.li@example.com', ['#W3916020', 'sofia.li@example.com']],
    ['an ordinary sentence, well-meant. Truly', []],
    ['C:\\temp\\new\\file.ts', ['file.ts']],
    ['at 2024-05-08T16:04:11Z in UTC', []],
    ['at 16:04:02.000Z, then 16:04:11Z', []],
    ['src\\new\\parser.ts', ['parser.ts']],
    ['migrations/001_init.sql ran', ['migrations/001_init.sql']],
    ['host 192.168.0.17, version 2.14.1-rc3', ['2.14.1-rc3']],
    ['die Tabelle kunden_2024 und 订单 A-1042', ['kunden_2024', 'A-1042']],
  ])('%s', (text, names) => expect(namesIn(text, false)).toEqual(names));

  it('are numbers where they were passed to a tool', () => {
    expect(namesIn('limit 120000, page 7', true)).toEqual(['120000']);
    expect(namesIn('limit 120000, page 7', false)).toEqual([]);
  });
});
