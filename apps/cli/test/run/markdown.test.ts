import { Lexer } from 'marked';
import { expect, it, vi } from 'vitest';
import { markdownLines } from '../../src/terminal/markdown.js';
import { PLAIN } from '../../src/terminal/style.js';

const named = (format: unknown, text: string) => `<${format}>${text}</>`;

it.each([
  ['Some **bold *and* `code`**.', 'Some <bold>bold <italic>and</> <cyan>code</></>.'],
  ['## What is `x`?', '<bold>What is <cyan>x</>?</>'],
  ['- one [*page*](https://x.example)', '- one <italic>page</> (<underline>https://x.example</>)'],
  ['see https://x.example or <https://y.example>', 'see https://x.example or <https://y.example>'],
  ['2 * 3 * 4, a_b_c and 5 < 6 & 7', '2 * 3 * 4, a_b_c and 5 < 6 & 7'],
  ['#tag', '#tag'],
])('formats the line %s', (line, shown) => {
  expect(markdownLines(named)(line)).toEqual([shown]);
});

it('indents code, and leaves out its fences', () => {
  const lines = ['```ts', 'const a = `**b**`;', '| a |', '~~~', '  ```', '**b**'];
  const format = markdownLines(named);
  expect(lines.flatMap((line) => format(line))).toEqual([
    '<cyan>  const a = `**b**`;</>',
    '<cyan>  | a |</>',
    '<cyan>  ~~~</>',
    '<bold>b</>',
  ]);
});

const shown = (lines: readonly string[], columns: number) => {
  const format = markdownLines(
    (_, text) => text,
    () => columns,
  );
  return [...lines.flatMap((line) => format(line)), ...(format.end?.() ?? [])].join('\n');
};

it('aligns a table once it is complete, and fits it into the width', () => {
  const table = [
    '| Name | What it does |',
    '|---|:-:|',
    '| `a` | **one** |',
    '| a\\|b | 漢字 and a long text |',
    '| c |',
  ];
  expect(shown(table, 80)).toBe(
    ['Name  What it does', 'a     one', 'a|b   漢字 and a long text', 'c'].join('\n'),
  );
  expect(shown([...table, '', 'After'], 20)).toBe(
    ['Name  What it does', 'a     one', 'a|b   漢字 and a', '      long text', 'c', '', 'After'].join('\n'),
  );
  for (const row of shown(table, 4).split('\n')) expect(row.length).toBeLessThanOrEqual(4);
});

it('shows lines with pipes that are no table as they are', () => {
  expect(shown(['| a |', 'b', '| c | d |'], 80)).toBe('| a |\nb\n| c | d |');
});

it('changes nothing without colors', () => {
  expect(markdownLines(PLAIN)('# A **b**')).toEqual(['# A **b**']);
});

it.each(['*', '**a_', '[a](', '!', '~a*', '`a', '<a'])(
  'parses only lines with a bounded length and number of marks, and shows others as they are: %s',
  (mark) => {
    const parse = vi.spyOn(Lexer, 'lexInline');
    const format = markdownLines(named);
    const marks = mark.replaceAll(/[a(]/g, '').length;
    const many = mark.repeat(61);
    const long = `${mark.repeat(20)}${'x'.repeat(1_000)}`;
    for (const line of [many, long, mark.repeat(50_000)]) expect(format(line)).toEqual([line]);
    expect(parse).not.toHaveBeenCalled();
    format(mark.repeat(60 / marks));
    expect(parse).toHaveBeenCalledOnce();
    parse.mockRestore();
  },
);
