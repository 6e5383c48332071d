import { expect, it, vi } from 'vitest';
import * as columns from '../../src/terminal/columns.js';
import { markdownLines } from '../../src/terminal/markdown.js';
import { type Output, Screen } from '../../src/terminal/screen.js';
import { FakeTerminal } from '../support/fake-terminal.js';

vi.mock('../../src/terminal/columns.js', { spy: true });

/** A screen of 20 columns. `resize` changes them. */
function open() {
  const terminal = new FakeTerminal(20);
  let resized = () => {};
  const output = {
    isTTY: true,
    columns: 20,
    write: (text: string) => terminal.write(text),
    on: (_: string, listener: () => void) => {
      resized = listener;
    },
    off: () => {},
  };
  const screen = new Screen(output as unknown as Output, () => ({ rows: ['> '], row: 0, column: 2 }));
  const resize = (width: number) => {
    output.columns = width;
    resized();
  };
  return { terminal, screen, resize };
}

it('wraps an unfinished line the same, whether it comes whole or in pieces', () => {
  const text = `  an indent, some words ${'x'.repeat(50)} 漢字漢字漢字漢字漢字漢字 and an end`;
  const [whole, pieces] = [open(), open()];
  whole.screen.write(text);
  for (const piece of text) pieces.screen.write(piece);
  expect(pieces.terminal.text).toBe(whole.terminal.text);
  for (const { screen } of [whole, pieces]) screen.write(' of it\nNext');
  expect(pieces.terminal.text).toBe(whole.terminal.text);
  expect(pieces.terminal.text).toContain('Next\n>');
});

it('shows a table before the output that interrupts it', () => {
  const { terminal, screen } = open();
  const format = markdownLines(
    (_, text) => text,
    () => 20,
  );
  screen.write('| a | b |\n|---|---|\n| long | c |', format);
  screen.write('\n', format);
  screen.write('A note\n');
  expect(terminal.text).toMatch(/^a +b\nlong {2}c\nA note\n/);
});

it('wraps an unfinished line again when the terminal gets another width', () => {
  const { terminal, screen, resize } = open();
  screen.write('one two three four five');
  expect(terminal.text).toBe('one two three four\nfive\n>');
  resize(12);
  screen.write(' six');
  expect(terminal.text).toContain('one two\nthree four\nfive six\n>');
});

it('wraps only the end of an unfinished line when a piece is added', () => {
  const { screen } = open();
  const wrap = vi.mocked(columns.rowsOf).mockClear();
  for (let piece = 0; piece < 2_000; piece++) screen.write('abcde');
  expect(Math.max(...wrap.mock.calls.map(([text]) => text.length))).toBeLessThanOrEqual(25);
});

it.each([
  ['accents', '\u0301'],
  ['variants', '\uFE0F'],
  ['tags', '\u{E0067}'],
])('wraps characters that take no column, between two characters: %s', (_, mark) => {
  const { screen } = open();
  const wrap = vi.mocked(columns.rowsOf).mockClear();
  for (let piece = 0; piece < 200; piece++) screen.write(mark.repeat(5));
  const texts = wrap.mock.calls.map(([text]) => text);
  expect(Math.max(...texts.map((text) => text.length))).toBeLessThanOrEqual(4 * 20 + 10);
  expect(texts.every((text) => text.isWellFormed())).toBe(true);
});
