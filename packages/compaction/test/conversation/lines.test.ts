import { atOnce } from '@x/core/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countedText, oddBetween, oddLines, shapeOf } from '../../src/conversation/lines.js';

const row = (index: number) =>
  `INFO 10:0${index % 7} order ${10_000 + index} done in ${index % 90}ms by worker-${index % 13}`;
const rows = (count: number) => Array.from({ length: count }, (_, index) => row(index));

describe('odd lines', () => {
  it('are those like no other, numbers and ids aside, with their places', () => {
    const lines = rows(500).toSpliced(250, 0, 'ERROR order 99117 failed: card declined');
    const text = lines.join('\n');
    expect(oddLines(text)).toEqual([
      { at: text.indexOf('ERROR'), text: 'ERROR order 99117 failed: card declined' },
    ]);
  });

  it('are none where lines differ anyway, or are few', () => {
    const prose = Array.from({ length: 300 }, (_, index) =>
      'abcdefghij'.slice(index % 9).repeat(1 + (index % 31)),
    );
    expect(oddLines(prose.join('\n'))).toEqual([]);
    expect(oddLines([...rows(20), 'ERROR'].join('\n'))).toEqual([]);
    expect(oddLines('')).toEqual([]);
  });

  it('are shown as far as there is room, whole characters alone', () => {
    const many = Array.from({ length: 12 }, (_, at) => `${'ABCDEFGHIJKL'[at]}${'🦊'.repeat(150)}`);
    const odd = oddLines([...rows(900), ...many].join('\n'));
    expect(odd).toHaveLength(12);
    for (const most of [0, 100, 300, 1_000, 5_000]) {
      const shown = oddBetween(odd, 0, Number.POSITIVE_INFINITY, most);
      expect(shown.length).toBeLessThanOrEqual(most);
      expect(() => encodeURIComponent(shown)).not.toThrow();
    }
    expect(oddBetween(odd, 0, Number.POSITIVE_INFINITY, 300)).toContain('A🦊');
  });

  it('stand at their places, in any text', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a 1', 'a 2', 'b', '', 'c\r', '🦊 3'), { maxLength: 200 }),
        (lines) => {
          const text = lines.join('\n');
          for (const { at, text: line } of oddLines(text))
            expect(text.slice(at, at + line.length)).toBe(line);
        },
      ),
    );
  });
});

describe('lines that repeat', () => {
  it('are counted from the third on, and nothing else changes', () => {
    const counted = (lines: readonly string[]) => atOnce(countedText(lines.join('\n'))).split('\n');
    expect(counted(['a', 'a', 'a', 'b', 'b', 'a'])).toEqual(['a (×3)', 'b', 'b', 'a']);
    expect(counted(['a\r', 'a\r', 'a\r', '', '', '', 'b'])).toEqual(['a (×3)', '', 'b']);
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b'), { minLength: 1 }), (lines) => {
        const again = counted(lines).flatMap((line) => {
          const [, text = line, times = '1'] = /^(.*) \(×(\d+)\)$/.exec(line) ?? [];
          return Array.from({ length: Number(times) }, () => text);
        });
        expect(again).toEqual(lines);
      }),
    );
  });
});

it.each(['größe1 ok', 'x٣ ok', 'größe٣ ok', 'x1 ok'])('masks words with digits of any script: %s', (line) => {
  expect(shapeOf(line)).toBe('0 ok');
});
