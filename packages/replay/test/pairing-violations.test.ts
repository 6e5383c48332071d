import { assistantMessage, toolResultMessage, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { pairingViolations } from '../src/pairing-violations.js';

const call = (...ids: string[]) =>
  assistantMessage(ids.map((id) => ({ type: 'tool_use', id, name: 'look', input: {} })));
const result = (id: string) => toolResultMessage({ id, name: 'look' }, 'ok');

describe('pairingViolations', () => {
  it('finds none where every call is followed by its results', () => {
    const messages = [userMessage('go'), call('a', 'b'), result('b'), result('a'), call('a'), result('a')];
    expect(pairingViolations(messages)).toBe(0);
  });

  it.each([
    ['a result without a call', [userMessage('go'), result('a')]],
    ['a call without a result', [call('a'), userMessage('go on')]],
    ['a call at the end', [userMessage('go'), call('a')]],
    ['a second result', [call('a'), result('a'), result('a')]],
  ])('finds %s', (_, messages) => {
    expect(pairingViolations(messages)).toBe(1);
  });

  it('finds a result that stands apart from its call, on both sides', () => {
    expect(pairingViolations([call('a'), userMessage('meanwhile'), result('a')])).toBe(2);
  });
});
