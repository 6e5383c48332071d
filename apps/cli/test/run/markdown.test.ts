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

it.each(['*', '**a_', '[a](', '!', '~a*', '`a', '<a'])(
  'parses only lines with a bounded length and number of marks, and shows others as they are: %s',
  (mark) => {
    const parse = vi.spyOn(Lexer, 'lexInline');
    const format = markdownLines(named);
    const marks = mark.replaceAll(/[a(]/g, '').length;
    const many = mark.repeat(61);
    const long = `${mark.repeat(20)}${'x'.repeat(1_000)}`;
    for (const line of [many, long, mark.repeat(50_000)]) expect(format(line)).toBe(line);
    expect(parse).not.toHaveBeenCalled();
    format(mark.repeat(60 / marks));
    expect(parse).toHaveBeenCalledOnce();
    parse.mockRestore();
  },
);
