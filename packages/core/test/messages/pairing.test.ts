import { describe, expect, it } from 'vitest';
import { assistantMessage, type ToolUseBlock, toolResultMessage, userMessage } from '../../src/index.js';
import { pairingOf } from '../../src/messages.js';

const call = (id: string): ToolUseBlock => ({ type: 'tool_use', id, name: 'look', input: {} });
const groupsOf = (...messages: Parameters<typeof pairingOf>[0]) =>
  pairingOf(messages).groups.map(({ start, end, open }) => `${start}-${end}${open ? ' open' : ''}`);

describe('pairingOf', () => {
  it('groups parallel calls with all their results, other messages by themselves', () => {
    expect(
      groupsOf(
        userMessage('go'),
        assistantMessage([call('a'), call('b')]),
        toolResultMessage(call('a'), '1'),
        toolResultMessage(call('b'), '2'),
        assistantMessage('done'),
      ),
    ).toEqual(['0-1', '1-4', '4-5']);
  });

  it('pairs ids that are used again with the call before them', () => {
    const { orphanCalls, orphanResults, groups } = pairingOf([
      assistantMessage([call('a')]),
      toolResultMessage(call('a'), '1'),
      assistantMessage([call('a')]),
      toolResultMessage(call('a'), '2'),
    ]);
    expect(groups).toHaveLength(2);
    expect([orphanCalls.size, orphanResults.size]).toEqual([0, 0]);
  });

  it('tells an open call from one that was never answered', () => {
    const messages = [assistantMessage([call('lost')]), assistantMessage([call('open')])];
    expect(groupsOf(...messages)).toEqual(['0-1', '1-2 open']);
    expect([...pairingOf(messages).orphanCalls]).toEqual([[0, new Set([call('lost')])]]);
  });

  it('keeps a call that the provider ran and its result together, in whichever later answer it comes', () => {
    const half = (callId: string, which: 'call' | 'result') =>
      ({ type: 'opaque', provider: 'acme', data: { callId, which }, callId, half: which }) as const;
    expect(
      groupsOf(
        userMessage('go'),
        assistantMessage([half('server', 'call'), call('a')]),
        toolResultMessage(call('a'), '1'),
        assistantMessage([half('server', 'result')]),
        assistantMessage('done'),
      ),
    ).toEqual(['0-1', '1-4', '4-5']);
    const { orphanResults } = pairingOf([assistantMessage([half('ghost', 'result')])]);
    expect([...orphanResults]).toEqual([[0, new Set([half('ghost', 'result')])]]);
  });

  it('takes a call for never answered once the user has spoken, unless its result still comes', () => {
    const asked = [assistantMessage([call('lost')]), userMessage('never mind')];
    expect([...pairingOf(asked).orphanCalls]).toEqual([[0, new Set([call('lost')])]]);
    expect(pairingOf([...asked, toolResultMessage(call('lost'), 'late')]).orphanCalls.size).toBe(0);
    const reminded = [assistantMessage([call('open')]), userMessage('note', { kind: 'synthetic' })];
    expect(groupsOf(...reminded)).toEqual(['0-1 open', '1-2']);
  });

  it('finds results without a call, and results that stand apart from theirs', () => {
    const { orphanResults, scattered, groups } = pairingOf([
      toolResultMessage(call('ghost'), '?'),
      assistantMessage([call('a')]),
      userMessage('hurry'),
      toolResultMessage(call('a'), '1'),
    ]);
    expect([...orphanResults.keys()]).toEqual([0]);
    expect([...scattered]).toEqual([[3, 1]]);
    expect(groups.map((group) => group.end)).toEqual([1, 4]);
  });
});
