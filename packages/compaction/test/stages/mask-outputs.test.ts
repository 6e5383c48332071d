import {
  assistantMessage,
  type Message,
  type ToolUseBlock,
  textOf,
  toolResultMessage,
  toolResultsOf,
  userMessage,
} from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskOutputs } from '../../src/index.js';
import { at, lines, reduceWith, round, rounds } from '../build.js';

const said = (message: Message | undefined) => (message ? textOf(message) : '');

describe('maskOutputs', () => {
  it('turns old outputs into one line; ids, number and the newest outputs stay', async () => {
    const messages = [...rounds(8, () => ({ output: lines(47) })), assistantMessage('done')];
    const { messages: after, fates } = await reduceWith(maskOutputs(), messages, {}, { logLocation: 'log' });

    expect(after.map((message) => message.id)).toEqual(messages.map((message) => message.id));
    expect(fates).toHaveLength(3);
    expect(said(after[1])).toMatch(
      /^\[read_file src\/file\d+\.ts → ok, 47 lines, 365 bytes; full text: log message [\w-]+\]$/,
    );
    expect(said(after[1])).toContain(messages[1]?.id);
    expect(toolResultsOf(at(after, 1))[0]?.toolUseId).toBe(toolResultsOf(at(messages, 1))[0]?.toolUseId);
    expect(after.slice(6)).toEqual(messages.slice(6));
  });

  it('keeps head and tail in the other format', async () => {
    const messages = [...round({ output: lines(20, 'row '.repeat(10)) }), assistantMessage('ok')];
    const stage = maskOutputs({ keepRecentToolOutputs: 0, format: 'head_tail' });
    const { messages: after } = await reduceWith(stage, messages);
    const shown = said(after[1]).split('\n');
    expect(shown).toHaveLength(8);
    expect(shown[3]).toBe('... (14 lines omitted) ...');
    expect(shown[6]).toContain('row  19'.trim());
  });

  it('says that a call failed, and with what', async () => {
    const output = `running\nError: connection refused at 10.0.0.1\n${lines(40)}`;
    const messages = [
      ...round({ name: 'execute', input: {}, output, isError: true }),
      assistantMessage('hm'),
    ];
    const { messages: after } = await reduceWith(maskOutputs({ keepRecentToolOutputs: 0 }), messages);
    expect(said(after[1])).toContain('execute → failed: Error: connection refused at 10.0.0.1');
    expect(toolResultsOf(at(after, 1))[0]?.isError).toBe(true);
  });

  it('never calls a command that failed a success, whatever the tool calls it', async () => {
    const failing = `exit 2\n${lines(30)}\nsrc/a.ts(3,1): error: no such name\n${lines(30)}`;
    const usage = `exit 64\nusage: make [-h]\n${lines(60)}`;
    const run = (output: string) => round({ name: 'execute', input: { command: 'make' }, output });
    const messages = [...run(failing), ...run(usage), ...run(`exit 0\n${lines(60)}`), assistantMessage('hm')];
    const { messages: after } = await reduceWith(maskOutputs({ keepRecentToolOutputs: 0 }), messages);
    expect(said(after[1])).toMatch(
      /^\[execute → failed with exit 2: src\/a\.ts\(3,1\): error: no such name, 62 lines/,
    );
    expect(said(after[3])).toMatch(/^\[execute → failed with exit 64: usage: make \[-h\], 62 lines/);
    expect(said(after[5])).toMatch(/^\[execute → ok, 61 lines/);
  });

  it('warns of making a call again that destroys something', async () => {
    const drop = () => round({ name: 'drop_tables', input: {}, output: lines(60) });
    const look = () => round({ name: 'list_tables', input: {}, output: lines(60) });
    const tool = (name: string, destructive: boolean) => ({
      name,
      description: '',
      inputSchema: {},
      annotations: { destructive },
    });
    const tools = [tool('drop_tables', true), tool('list_tables', false)];
    const messages = [...drop(), ...look(), assistantMessage('ok')];
    const stage = maskOutputs({ keepRecentToolOutputs: 0 });
    const { messages: after } = await reduceWith(stage, messages, {}, { tools });
    expect(said(after[1])).toMatch(/^\[drop_tables → ok, 60 lines, \d+ bytes; done, do not repeat\]$/);
    expect(said(after[3])).not.toContain('repeat');
    const { messages: untold } = await reduceWith(stage, messages);
    expect(said(untold[1])).not.toContain('repeat');
  });

  it('names the part of the file that was read', async () => {
    const inputs = [
      [{ path: 'a.ts', offset: 10, limit: 60 }, '(offset 10, limit 60)'],
      [{ file_path: 'a.ts', view_range: [10, 69] }, '(view_range 10–69)'],
      [{ path: 'a.ts', startLine: 10, endLine: 69, offset: 'x' }, '(startLine 10, endLine 69)'],
    ] as const;
    for (const [input, range] of inputs) {
      const messages = [...round({ input, output: lines(60) }), assistantMessage('ok')];
      const { messages: after } = await reduceWith(maskOutputs({ keepRecentToolOutputs: 0 }), messages);
      expect(said(after[1])).toMatch(`[read_file a.ts ${range} → ok, 60 lines, `);
    }
  });

  it('never touches what the model has not answered yet', async () => {
    const calls = Array.from(
      { length: 10 },
      (_, index): ToolUseBlock => ({ type: 'tool_use', id: `p${index}`, name: 'fetch', input: {} }),
    );
    const messages = [
      userMessage('go'),
      assistantMessage(calls),
      ...calls.map((call) => toolResultMessage(call, lines(100))),
    ];
    const { messages: after } = await reduceWith(maskOutputs({ keepRecentToolOutputs: 0 }), messages);
    expect(after).toBe(messages);
  });

  it('takes files out of old outputs and names them', async () => {
    const call: ToolUseBlock = { type: 'tool_use', id: 'shot', name: 'screenshot', input: {} };
    const image = { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'AAAA' } } as const;
    const messages = [assistantMessage([call]), toolResultMessage(call, [image]), assistantMessage('I see')];
    const { messages: after } = await reduceWith(maskOutputs({ keepRecentToolOutputs: 0 }), messages);
    expect(said(after[1])).toContain('with image/png');
  });

  it('recognizes a masked output by its mark: look-alikes are masked, stubs are not', async () => {
    const lookAlike = `[read_file → ok, 1 lines, 3 bytes; full text: log message x]${' padding'.repeat(100)}`;
    const messages = [...round({ output: lookAlike }), assistantMessage('ok')];
    const stage = maskOutputs({ keepRecentToolOutputs: 0 });
    const once = await reduceWith(stage, messages);
    expect(once.fates).toHaveLength(1);
    const twice = await reduceWith(stage, once.messages);
    expect(twice.messages).toBe(once.messages);
  });

  it('leaves excluded tools alone, also by a pattern', async () => {
    const messages = [
      ...round({ name: 'skill_load', output: lines(50) }),
      ...round({ output: lines(50) }),
      assistantMessage('ok'),
    ];
    const stage = maskOutputs({ keepRecentToolOutputs: 0, excludeTools: ['skill_*'] });
    const { fates } = await reduceWith(stage, messages);
    expect(fates.map((fate) => fate.messageId)).toEqual([messages[3]?.id]);
  });

  it('waits until it saves a twentieth of the request', async () => {
    const messages = [
      ...round({ output: lines(20) }),
      userMessage('word '.repeat(8_000)),
      ...rounds(5),
      assistantMessage('ok'),
    ];
    const tight = { forced: false, targetTokens: 1_000, limitTokens: 2_000 };
    const patient = await reduceWith(maskOutputs(), messages, tight);
    expect(patient.messages).toBe(messages);
    expect(patient.note).toContain('not worth a rewrite yet');
  });

  it('never makes an output longer', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ maxLength: 200 }),
        fc.constantFrom('one_line', 'head_tail' as const),
        async (output, format) => {
          const messages = [...round({ output }), assistantMessage('ok')];
          const stage = maskOutputs({ keepRecentToolOutputs: 0, format });
          const { messages: after } = await reduceWith(stage, messages);
          expect(said(after[1]).length).toBeLessThanOrEqual(output.length);
        },
      ),
    );
  });
});
