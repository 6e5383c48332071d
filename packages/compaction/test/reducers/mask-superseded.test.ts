import { assistantMessage, type Message, textOf, toolResultsOf, toolUsesOf, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { createCompactor, maskOutputs, maskSuperseded } from '../../src/index.js';
import { at, lines, type RoundOptions, reduceWith, round, rounds } from '../build.js';

const reading = (options: RoundOptions = {}) =>
  round({ input: { path: 'src/a.ts' }, output: lines(60), ...options });
const running = (command: string, options: RoundOptions = {}) =>
  round({ name: 'execute', input: { command }, output: lines(60), ...options });
const done = assistantMessage('I see');
const said = (messages: readonly Message[], index: number) => textOf(at(messages, index));
const changed = async (messages: readonly Message[]) =>
  (await reduceWith(maskSuperseded(), messages)).fates.map(({ messageId }) =>
    messages.findIndex((message) => message.id === messageId),
  );

describe('maskSuperseded', () => {
  it('leaves a stub that names the newer call and the original, where a file was read again', async () => {
    const messages = [...reading(), ...reading(), done];
    const { messages: after, fates } = await reduceWith(
      maskSuperseded(),
      messages,
      {},
      { logLocation: 'log' },
    );
    expect(fates).toEqual([{ messageId: messages[1]?.id, fate: 'superseded' }]);
    const [newer] = toolUsesOf(at(messages, 2));
    expect(said(after, 1)).toBe(
      `[read_file src/a.ts → ok; superseded by the newer call ${newer?.id}; full text: log message ${messages[1]?.id}]`,
    );
    expect(toolResultsOf(at(after, 1))[0]?.toolUseId).toBe(toolUsesOf(at(messages, 0))[0]?.id);
    expect(after.slice(2)).toEqual(messages.slice(2));
  });

  it('keeps what a command printed before it was run again', async () => {
    const count = { input: { command: 'count users' } };
    expect(await changed([...running('', count), ...running('', count), done])).toEqual([]);
  });

  it('names the part of the file', async () => {
    const part = { input: { path: 'src/a.ts', offset: 10, limit: 60 } };
    const { messages: after } = await reduceWith(maskSuperseded(), [
      ...reading(part),
      ...reading(part),
      done,
    ]);
    expect(said(after, 1)).toMatch(/^\[read_file src\/a\.ts \(offset 10, limit 60\) → ok; superseded by/);
  });

  it.each<[string, RoundOptions, RoundOptions]>([
    ['another file', {}, { input: { path: 'src/b.ts' } }],
    ['another range', {}, { input: { path: 'src/a.ts', offset: 100 } }],
    ['an error that came first', { isError: true }, {}],
    ['a newer call that failed', {}, { isError: true }],
    ['a tool that changes files', { name: 'write_file' }, { name: 'write_file' }],
    ['a tool without a target', { name: 'now', input: {} }, { name: 'now', input: {} }],
    ['an output shorter than a stub', { output: 'short' }, { output: 'short' }],
  ])('leaves the older output alone: %s', async (_, older, newer) => {
    expect(await changed([...reading(older), ...reading(newer), done])).toEqual([]);
  });

  it('believes a tool that says it is read-only, whatever its name', async () => {
    const asked = (topic: string) => round({ name: 'weather', input: { path: topic }, output: lines(60) });
    const messages = [...asked('rain'), ...asked('snow'), ...asked('rain'), done];
    const tools = [{ name: 'weather', description: '', inputSchema: {}, annotations: { readOnly: true } }];
    const { messages: after, fates } = await reduceWith(maskSuperseded(), messages, {}, { tools });
    expect(fates).toEqual([{ messageId: messages[1]?.id, fate: 'superseded' }]);
    expect(said(after, 1)).toMatch(/^\[weather rain → ok; superseded by the newer call /);
    expect(await changed(messages)).toEqual([]);
  });

  it('never touches what the model has not seen, but lets it supersede', async () => {
    const [first, second] = [reading(), reading()];
    const calls = assistantMessage([...first[0].content, ...second[0].content]);
    expect(await changed([calls, first[1], second[1]])).toEqual([]);
    expect(await changed([...reading(), calls, first[1], second[1]])).toEqual([1]);
  });

  it('heeds excluded tools, stubs each output once, and leaves stubs to nobody else', async () => {
    const messages = [...reading(), ...reading(), done];
    const excluded = await reduceWith(maskSuperseded({ excludeTools: ['read_*'] }), messages);
    expect(excluded.messages).toBe(messages);
    const once = await reduceWith(maskSuperseded(), messages);
    expect((await reduceWith(maskSuperseded(), once.messages)).messages).toBe(once.messages);
    const masked = await reduceWith(maskOutputs({ keepRecentToolOutputs: 0 }), once.messages);
    expect(said(masked.messages, 1)).toBe(said(once.messages, 1));
  });

  it('waits until it saves a twentieth of the request', async () => {
    const messages = [...reading(), ...reading(), userMessage('word '.repeat(9_000)), done];
    const { note, fates } = await reduceWith(maskSuperseded(), messages, {
      forced: false,
      targetTokens: 1,
    });
    expect(fates).toEqual([]);
    expect(note).toContain('waits');
  });

  it('runs before masking in the cascade, which it can spare', async () => {
    const again = rounds(12, () => ({ input: { path: 'src/a.ts' }, output: lines(200) }));
    const messages = [userMessage('go'), ...again, done];
    const options = {
      contextWindow: 8_000,
      model: null,
      stages: ['mask_superseded', 'mask_outputs', 'summarize', 'drop_oldest'],
    } as const;
    const outcome = await createCompactor({ ...options, stages: [...options.stages] }).compact(messages, {
      reason: 'proactive_budget',
    });
    expect(outcome.status).toBe('applied');
    expect(outcome.steps.filter((step) => step.tokensAfter < step.tokensBefore)).toMatchObject([
      { reducer: 'mask_superseded' },
    ]);
    const off = createCompactor({ ...options, stages: options.stages.slice(1) });
    const { steps } = await off.compact(messages, { reason: 'proactive_budget' });
    expect(steps.map((step) => step.reducer)).not.toContain('mask_superseded');
  });
});
