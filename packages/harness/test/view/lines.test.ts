import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RenderedLine, renderDiff, renderResult } from '../../src/view/index.js';

const text = fc
  .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 60 })
  .map((lines) => lines.map((line) => `${line}\n`).join(''));
const linesOf = (whole: string) => (whole === '' ? [] : whole.replace(/\n$/, '').split('\n'));
const of = (lines: readonly RenderedLine[], mark: string) =>
  lines.filter((line) => line.mark === mark).map((line) => line.text);

/** Checks that `part` can be read in `whole`, in order. */
function isWithin(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0;
  for (const line of whole) if (line === part[at]) at++;
  return at === part.length;
}

describe('a diff', () => {
  it('has every added line, and shows only lines of the two texts, in their order', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = renderDiff(before, after);
        const shown = lines.filter(({ mark }) => mark !== '…');
        const now = shown.filter(({ mark }) => mark !== '-').map((line) => line.text);
        const old = shown.filter(({ mark }) => mark !== '+').map((line) => line.text);
        expect(isWithin(now, linesOf(after))).toBe(true);
        expect(isWithin(old, linesOf(before))).toBe(true);
        const hidden = of(lines, '…').reduce((sum, words) => sum + Number.parseInt(words, 10), 0);
        const removed = of(lines, '…').filter((words) => words.includes('removed'));
        const gone = removed.reduce((sum, words) => sum + Number.parseInt(words, 10), 0);
        expect(now.length + hidden - gone).toBe(linesOf(after).length);
        expect(old.length + hidden).toBe(linesOf(before).length);
      }),
    );
  });

  it('of equal texts has only a note: the number of their lines, and that nothing changes', () => {
    fc.assert(
      fc.property(text, (same) => {
        expect(renderDiff(same, same).filter(({ text }) => !text.endsWith(': no change'))).toEqual([]);
      }),
    );
  });

  it('keeps two changes that are far apart apart', () => {
    const before = Array.from({ length: 60 }, (_, index) => `line ${index}`);
    const after = before.with(3, 'three').with(50, 'fifty').join('\n');
    const lines = renderDiff(before.join('\n'), after);
    expect(of(lines, '-')).toEqual(['line 3', 'line 50']);
    expect(of(lines, '+')).toEqual(['three', 'fifty']);
    expect(of(lines, '…')).toEqual(['1 unchanged line', '42 unchanged lines', '7 unchanged lines']);
    expect(lines).toHaveLength(15);
  });

  it('has no line for the line break at the end, and spells out what is not seen', () => {
    expect(renderDiff('', 'a\n\u202Eb\n')).toEqual([
      { mark: '+', text: 'a' },
      { mark: '+', text: '\\u{202e}b' },
    ]);
  });

  it.each([
    ['a\r\n', 'a\n', ['a\\u{d}'], ['a']],
    ['a\n', 'a', ['a\\u{a}'], ['a']],
    ['a', 'a\nb\n', [], ['b\\u{a}']],
    ['a\nb\r\n', 'a\nc\r\n', ['b\\u{d}'], ['c\\u{d}']],
    ['a\r\nb\r\n', 'a\r\nc\r\n', ['b'], ['c']],
    ['', 'a\r\n', [], ['a']],
    ['a', 'b', ['a'], ['b']],
  ])('spells out line ends in which %j and %j differ', (before, after, removed, added) => {
    const lines = renderDiff(before, after);
    expect([of(lines, '-'), of(lines, '+')]).toEqual([removed, added]);
  });

  it('shows a change of every two texts that differ', () => {
    const any = fc.array(fc.constantFrom('a', 'b', '\n', '\r\n', '\r')).map((parts) => parts.join(''));
    fc.assert(
      fc.property(any, any, (before, after) => {
        const changed = renderDiff(before, after).some(({ mark }) => mark === '+' || mark === '-');
        expect(changed).toBe(before !== after);
      }),
      { numRuns: 1_000 },
    );
  });

  it('shows 8 removed lines of a long file, and all that stands there then', () => {
    const lines = renderDiff('old\n'.repeat(500), 'new\n'.repeat(30));
    expect(of(lines, '-')).toHaveLength(8);
    expect(of(lines, '…')).toEqual(['492 more removed lines']);
    expect(of(lines, '+')).toHaveLength(30);
  });

  it('compares two large texts that have nothing in common at once', () => {
    const lines = renderDiff('old\n'.repeat(30_000), 'new\n'.repeat(30_000));
    expect(of(lines, '+')).toHaveLength(30_000);
  });
});

describe('a result', () => {
  const result = (output: string) => ({ output: [{ type: 'text' as const, text: output }] });

  it('shows head and tail, and how much is between', () => {
    const output = Array.from({ length: 100 }, (_, index) => `line ${index}`).join('\n');
    const lines = renderResult(result(output), { head: 2, tail: 1 });
    expect(lines.map(({ text }) => text)).toEqual(['line 0', 'line 1', '97 more lines', 'line 99']);
  });

  it('is whole where it is short, and never longer than asked for', () => {
    fc.assert(
      fc.property(fc.nat(40), fc.nat(5), fc.nat(5), (count, head, tail) => {
        const output = Array.from({ length: count }, (_, index) => `${index}`).join('\n');
        const lines = renderResult(result(output), { head, tail });
        expect(lines.length).toBe(Math.min(count, head + tail + 1));
      }),
    );
  });

  it('cuts a line of a megabyte in its middle, and names what is not text', () => {
    const [line] = renderResult(result('x'.repeat(1_000_000)));
    expect(line?.text).toMatch(/^x{1000} … 998000 characters … x{1000}$/);
    const image = { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: '' } } as const;
    expect(renderResult({ output: [image] })).toEqual([{ mark: '', text: '[image/png]' }]);
  });
});
