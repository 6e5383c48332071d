import { describe, expect, it } from 'vitest';
import { mentionsIn } from '../../src/ledger/mentions.js';

const tokens = (text: string) => mentionsIn(text).map(({ token }) => token);

describe('mentionsIn', () => {
  it.each([
    ['a path in prose', 'See src/auth/login.ts, please.', ['src/auth/login.ts']],
    ['an absolute path', 'cat /etc/nginx/nginx.conf;', ['/etc/nginx/nginx.conf']],
    ['a URL', 'from https://example.com/api/v2/users?', ['https://example.com/api/v2/users']],
    ['a URL whose scheme stands apart', 'git+https://host.example/a/b', ['host.example/a/b']],
    ['a bare file name', 'open package.json', ['package.json']],
    ['camelCase and PascalCase', 'validateToken of AuthService', ['validateToken', 'AuthService']],
    ['snake_case and constants', 'user_id MAX_SIZE', ['user_id', 'MAX_SIZE']],
    ['a commit', 'at 3fa85f64c', ['3fa85f64c']],
    ['an order number', 'order #W4689314, flight HAT223', ['#W4689314', 'HAT223']],
    ['a long number', 'pid 81185 of 12', ['81185']],
    ['names inside JSON text', '{"path":"a/b.ts\\nThe","k":"fooBar"}', ['a/b.ts', 'fooBar']],
    ['Cyrillic and Chinese beside names', 'файл src/Файл.ts и 文件 read_me', ['src/Файл.ts', 'read_me']],
  ])('finds %s', (_, text, expected) => {
    expect(tokens(text)).toEqual(expect.arrayContaining(expected));
  });

  it('leaves out times and quantities', () => {
    expect(tokens('took 1m42s, 9082899Z, 250ms at T0642Z, lines 120p 180p')).toEqual([]);
  });

  it('leaves out plain words, small numbers, versions, dates and punctuation', () => {
    expect(tokens('The quick Brown fox, 42 times; 1.2.3 or 2026-01-02 -- and/or e.g. ... ///')).toEqual([]);
  });

  it('takes time in proportion to the text, and no more than that of its ends', () => {
    const long = 'x/'.repeat(2_000_000);
    // Of this process alone: what others do meanwhile must not count.
    const before = process.cpuUsage();
    tokens(long);
    tokens('_'.repeat(1_000_000));
    // Zeros in base64, sequences of genes: one word of capitals.
    tokens('A'.repeat(1_000_000));
    expect(process.cpuUsage(before).user).toBeLessThan(10_000_000);
  });
});
