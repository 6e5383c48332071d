import { Lexer } from 'marked';
import { expect, it, vi } from 'vitest';
import { markdownLines } from '../../src/terminal/markdown.js';
import { PLAIN } from '../../src/terminal/style.js';

const named = (format: unknown, text: string) => `<${format}>${text}</>`;

it.each([
  ['Some **bold *and* `code`**.', 'Some <bold>bold <italic>and</> <cyan>code</></>.'],
  ['## What is `x`?', '<bold>What is <cyan>x</>?</>'],
  ['- one [page](https://x.example)', '- one [page](https://x.example)'],
  ['2 * 3 * 4, a_b_c and 5 < 6 & 7', '2 * 3 * 4, a_b_c and 5 < 6 & 7'],
  ['#tag', '#tag'],
])('formats the line %s', (line, shown) => {
  expect(markdownLines(named)(line)).toBe(shown);
});

it('leaves code in fences as it is', () => {
  const lines = ['```ts', 'const a = `**b**`;', '~~~', '  ```', '**b**'];
  const format = markdownLines(named);
  expect(lines.map((line) => format(line))).toEqual([
    '<cyan>```ts</>',
    '<cyan>const a = `**b**`;</>',
    '<cyan>~~~</>',
    '<cyan>  ```</>',
    '<bold>b</>',
  ]);
});

it('changes nothing without colors', () => {
  expect(markdownLines(PLAIN)('# A **b**')).toBe('# A **b**');
});

it.each(['*', '**a_', '[a]('])(
  'parses only lines of a bounded length, and shows others as they are: %s',
  (mark) => {
    const parse = vi.spyOn(Lexer, 'lexInline');
    const format = markdownLines(named);
    const long = `${mark.repeat(50_000)}x${mark.repeat(50_000)}`;
    expect(format(long)).toBe(long);
    format(mark.repeat(200));
    expect(parse.mock.calls.map(([text]) => text.length)).toEqual([200 * mark.length]);
    parse.mockRestore();
  },
);
