import { assistantMessage, estimateCounter, type JsonValue, type Message, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { findLongRangeValues } from '../../src/replay/long-range-values.js';

const filler = userMessage('nothing to see here '.repeat(1_000));

function talk(said: string, input: JsonValue): readonly Message[] {
  const call = { type: 'tool_use', id: 'c', name: 'go', input } as const;
  return [userMessage(said), filler, assistantMessage([call])];
}

describe('findLongRangeValues', () => {
  it('finds every value that comes from far back, whatever it looks like', () => {
    const said = 'Ship 4711 of src/a.ts for the green sofa to Berlin, 东京都港区六本木 next';
    const input = { id: 4711, path: 'src/a.ts', what: ['green sofa', { to: 'Berlin' }], at: '东京都港区' };
    const values = findLongRangeValues(talk(said, input), estimateCounter);
    expect(values.map(({ kind, token }) => [kind, token])).toEqual([
      ['number', '4711'],
      ['name', 'src/a.ts'],
      ['text', 'green sofa'],
      ['word', 'Berlin'],
      ['text', '东京都港区'],
    ]);
    expect(values.every(({ lastIndex, callIndex }) => lastIndex === 0 && callIndex === 2)).toBe(true);
  });

  it('tells what somebody told from what the model chose, and from the numbers of a list', () => {
    const listing = '409 import\n410 export\n411 const';
    const input = { port: 8443, offset: 410, limit: 60, note: 'Run lint', place: 'the green sofa' };
    const messages = talk(`Port 8443, the green sofa\n${listing}`, input);
    const own = assistantMessage([
      { type: 'tool_use', id: 'own', name: 'act', input: { limit: 60, note: 'Run lint' } },
    ]);
    const values = findLongRangeValues([own, ...messages], estimateCounter);
    expect(Object.fromEntries(values.map(({ token, told }) => [token, told]))).toEqual({
      '8443': true,
      '410': false,
      '60': false,
      'Run lint': false,
      'the green sofa': true,
    });
  });

  it('finds nothing that was said nearby, is part of a longer word, or was never said', () => {
    const messages = talk('sofas and 47110', { what: 'sofa', id: 4711, where: 'here', new: 'table' });
    expect(findLongRangeValues(messages, estimateCounter)).toEqual([]);
  });
});
