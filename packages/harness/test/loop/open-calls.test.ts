import { assistantMessage, type Message, type ToolUseBlock, toolResultMessage, userMessage } from '@x/core';
import { pairingOf } from '@x/core/messages';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openCalls, repairPairing } from '../../src/loop/open-calls.js';

const call = (id: string): ToolUseBlock => ({ type: 'tool_use', id, name: 'look', input: {} });
const shown = (messages: readonly Message[]) =>
  messages.map(({ role, content }) =>
    [
      role,
      ...content.map((block) =>
        'toolUseId' in block ? `${block.toolUseId}${block.isError ? '!' : ''}` : '',
      ),
    ]
      .join(' ')
      .trim(),
  );

describe('openCalls', () => {
  const calls = assistantMessage([call('a'), call('b')]);

  it('finds the calls of the last step without a result, in the order of the model', () => {
    expect(openCalls([userMessage('go'), calls]).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(openCalls([calls, toolResultMessage(call('b'), '2')]).map(({ id }) => id)).toEqual(['a']);
  });

  it('finds none behind any other message, be it injected', () => {
    expect(openCalls([calls, userMessage('never mind')])).toEqual([]);
    expect(openCalls([calls, userMessage('note', { kind: 'synthetic' })])).toEqual([]);
    expect(openCalls([toolResultMessage(call('a'), '1')])).toEqual([]);
  });

  it('tells calls of one id apart', () => {
    const twins = [call('a'), { ...call('a'), input: { second: true } }];
    const open = openCalls([assistantMessage(twins), toolResultMessage(call('a'), '1')]);
    expect(open).toEqual([twins[1]]);
  });
});

describe('repairPairing', () => {
  it('leaves out results that stand alone or apart, and closes calls where they stand', () => {
    const repaired = repairPairing(
      [
        toolResultMessage(call('ghost'), '?'),
        assistantMessage([call('a'), call('b')]),
        toolResultMessage(call('b'), '2'),
        userMessage('hurry'),
        toolResultMessage(call('a'), 'late'),
        assistantMessage([call('c')]),
      ],
      false,
    );
    expect(shown(repaired)).toEqual(['assistant', 'tool b', 'tool a!', 'user', 'assistant', 'tool c!']);
  });

  it('keeps calls at the very end open while they wait, and none before a message', () => {
    const open = [
      userMessage('go'),
      assistantMessage([call('a'), call('b')]),
      toolResultMessage(call('a'), '1'),
    ];
    expect(repairPairing(open, true)).toBe(open);
    expect(shown(repairPairing(open, false))).toEqual(['user', 'assistant', 'tool a', 'tool b!']);
    const behind = [...open, userMessage('note', { kind: 'synthetic' })];
    expect(shown(repairPairing(behind, true))).toEqual(['user', 'assistant', 'tool a', 'tool b!', 'user']);
  });

  it('leaves out the result of a provider whose call is gone', () => {
    const stray = { type: 'opaque', provider: 'acme', data: {}, callId: 'x', half: 'result' } as const;
    expect(shown(repairPairing([assistantMessage([stray]), userMessage('go')], false))).toEqual(['user']);
  });

  it('makes a bijection of anything, and then finds nothing more to repair', () => {
    const id = fc.constantFrom('a', 'b', 'c');
    const message = fc.oneof(
      fc.constant(userMessage('go')),
      fc.constant(userMessage('note', { kind: 'synthetic' })),
      fc.uniqueArray(id).map((ids) => assistantMessage([{ type: 'text', text: 'now' }, ...ids.map(call)])),
      id.map((one) => toolResultMessage(call(one), 'done')),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), fc.boolean(), (context, waiting) => {
        const repaired = repairPairing(context, waiting);
        const { orphanCalls, orphanResults, scattered, open } = pairingOf(repaired);
        expect([orphanCalls.size, orphanResults.size, scattered.size]).toEqual([0, 0, 0]);
        expect([...open.values()].flat()).toEqual(waiting ? openCalls(repaired) : []);
        expect(repairPairing(repaired, waiting)).toBe(repaired);
      }),
    );
  });
});
