import { compaction } from '@x/compaction';
import {
  ContextOverflowError,
  defineTool,
  estimateCounter,
  InMemorySession,
  InvalidInputError,
  ModelError,
  RuntimeContext,
  textOf,
} from '@x/core';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, OutputError } from '../../src/index.js';
import { collect, isPaired, scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const Weather = z.object({ city: z.string(), degrees: z.number() });
const BERN = { city: 'Bern', degrees: 21 };

const look = defineTool({
  name: 'look',
  description: 'Looks',
  readOnly: true,
  input: z.object({ at: z.number() }),
  execute: ({ at }) => `${at}: ${'word '.repeat(300)}`,
});

const byTool = (input: unknown) => ({ toolCalls: [{ name: 'final_answer', input: input as never }] });
const byFormat = (input: unknown) => ({ text: JSON.stringify(input) });
const WAYS = [
  { way: 'a tool', structuredOutput: false, answer: byTool },
  { way: 'the response format', structuredOutput: true, answer: byFormat },
] as const;

function setUp(script: readonly ScriptEntry[], structuredOutput = false, session = new InMemorySession()) {
  const model = new ScriptedModel(script, { structuredOutput });
  const agent = HarnessAgent.builder().model(model).session(session).workspace(scratch()).tools(look).build();
  return { model, agent, session };
}

describe.each(WAYS)('an answer by $way', ({ structuredOutput, answer }) => {
  const start = (script: readonly ScriptEntry[]) => setUp(script, structuredOutput);

  it('is validated and typed', async () => {
    const { agent, model } = start([{ toolCalls: [{ name: 'look', input: { at: 1 } }] }, answer(BERN)]);
    const reply = await agent.call('Weather?', context, { output: Weather });
    if (reply.stopReason !== 'completed') throw new Error(reply.stopReason);
    expectTypeOf(reply.output).toEqualTypeOf<{ city: string; degrees: number }>();
    expect(reply.output).toEqual(BERN);
    expect(JSON.parse(reply.text)).toEqual(BERN);
    model.assertComplete();
  });

  it('leaves the same conversation: the answer as text, and no call of a tool that is none', async () => {
    const { agent } = start([answer(BERN), { text: 'You are welcome.' }]);
    await agent.call('Weather?', context, { output: Weather });
    await agent.call('Thanks', context);
    const state = await agent.state(context);
    expect(state?.context.map((message) => [message.role, textOf(message)])).toEqual([
      ['user', 'Weather?'],
      ['assistant', JSON.stringify(BERN)],
      ['user', 'Thanks'],
      ['assistant', 'You are welcome.'],
    ]);
  });

  it('is sent back with what is wrong, and taken when corrected', async () => {
    const { agent, model } = start([answer({ city: 'Bern', degrees: 'warm' }), answer(BERN)]);
    const events = await collect(agent.stream('Weather?', context, { output: Weather }));
    expect(events.filter((event) => event.type === 'output.rejected')).toMatchObject([
      { attempt: 1, error: expect.stringContaining('degrees') },
    ]);
    expect(textOf(model.requests[1]?.messages.at(-1) ?? [])).toContain('degrees');
    expect(events.at(-1)).toMatchObject({ type: 'call.completed', output: BERN });
  });

  it('fails by name when it stays wrong, with the conversation stored', async () => {
    const { agent, session } = start([answer({}), answer({}), answer({})]);
    const call = agent.call('Weather?', context, { output: Weather });
    await expect(call).rejects.toMatchObject({ code: 'output_invalid', attempts: 3 });
    await expect(call).rejects.toBeInstanceOf(OutputError);
    expect((await agent.state(context))?.context).toHaveLength(6);
    expect(session.reach).toBe('process');
  });

  it('takes no repairs when none are allowed', async () => {
    const { agent, model } = start([answer({})]);
    const call = agent.call('Weather?', context, { output: Weather, outputRepairs: 0 });
    await expect(call).rejects.toMatchObject({ attempts: 1 });
    model.assertComplete();
  });

  it('applies what the schema transforms', async () => {
    const { agent } = start([answer({ at: '7' })]);
    const output = z.object({ at: z.string().transform(Number) });
    expect((await agent.call('?', context, { output })).output).toEqual({ at: 7 });
  });

  it('comes through an overflow and its compaction in the same call', async () => {
    const rounds = Array.from({ length: 6 }, (_, at) => ({ toolCalls: [{ name: 'look', input: { at } }] }));
    const overflow = { error: new ContextOverflowError() };
    const model = new ScriptedModel([...rounds, overflow, answer(BERN)], { structuredOutput });
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(scratch())
      .tools(look)
      .use(compaction({ model: null, keep: { tokens: 200 }, counter: estimateCounter }))
      .build();
    const reply = await agent.call('Look', context, { output: Weather });
    expect(reply.output).toEqual(BERN);
    expect(model.requests.every((request) => isPaired(request.messages))).toBe(true);
    expect(model.requests.at(-1)?.messages.length).toBeLessThan(13);
    model.assertComplete();
  });

  it('is asked for again when the call is resumed', async () => {
    const failing = { error: new Error('down') };
    const { agent } = start([{ toolCalls: [{ name: 'look', input: { at: 1 } }] }, failing, answer(BERN)]);
    await expect(agent.call('Weather?', context, { output: Weather })).rejects.toThrow('down');
    const reply = await agent.resume(context, { output: Weather });
    expect(reply.output).toEqual(BERN);
  });

  it('is missing from a call that was interrupted', async () => {
    const { agent } = start([
      () => {
        agent.interrupt(context);
        return answer(BERN);
      },
    ]);
    const reply = await agent.call('Weather?', context, { output: Weather });
    expect(reply).toMatchObject({ stopReason: 'interrupted', output: undefined });
  });
});

describe('an answer by a tool', () => {
  it('is told the schema, closed, in a tool beside the others', async () => {
    const { agent, model } = setUp([byTool(BERN)]);
    await agent.call('?', context, { output: Weather });
    const [request] = model.requests;
    expect(request?.tools.map((tool) => tool.name)).toEqual(['look', 'final_answer']);
    expect(request?.tools[1]?.inputSchema).toMatchObject({ additionalProperties: false });
    expect(request?.responseFormat).toBeUndefined();
  });

  it('has another name where the user has such a tool', async () => {
    const own = defineTool({
      name: 'final_answer',
      description: 'Mine',
      input: z.object({}),
      execute: () => 'ok',
    });
    const model = new ScriptedModel([{ toolCalls: [{ name: 'final_answer_2', input: BERN }] }]);
    const agent = HarnessAgent.builder().model(model).workspace(scratch()).tools(own).build();
    expect((await agent.call('?', context, { output: Weather })).output).toEqual(BERN);
  });

  it('is taken as text too, also in a Markdown fence', async () => {
    const { agent } = setUp([{ text: `\`\`\`json\n${JSON.stringify(BERN)}\n\`\`\`` }]);
    expect((await agent.call('?', context, { output: Weather })).output).toEqual(BERN);
  });

  it.each([
    '```json\n{}```',
    '```{}\n```',
    `\`\`\`${'\n'.repeat(500_000)}`,
    `\`\`\`${' \n'.repeat(500_000)}x\`\`\``,
    `\`\`\`${'a'.repeat(500_000)}`,
  ])('is refused at once where it is no fence with an answer (%#)', async (text) => {
    const { agent } = setUp([{ text }]);
    const asked = agent.call('?', context, { output: Weather, outputRepairs: 0 });
    await expect(asked).rejects.toMatchObject({ code: 'output_invalid' });
  });

  it('waits for the results of the calls beside it', async () => {
    const both = [{ name: 'look', input: { at: 1 } }, byTool(BERN).toolCalls[0] as never];
    const { agent, model } = setUp([{ toolCalls: both }, byTool(BERN)]);
    const reply = await agent.call('?', context, { output: Weather });
    expect(reply).toMatchObject({ output: BERN, steps: 2 });
    const second = model.requests[1]?.messages ?? [];
    expect(isPaired(second)).toBe(true);
    expect(second.some((message) => textOf(message).includes('Not accepted'))).toBe(true);
  });

  it('is not accepted if it was cut off, because the rest of a list may be missing', async () => {
    const Cities = z.object({ cities: z.array(z.string()) });
    const whole = { cities: ['Bern', 'Basel'] };
    const cut = { ...byTool({ cities: ['Bern'] }), finishReason: 'length' } as const;
    const { agent, model } = setUp([cut, byTool(whole)]);
    const reply = await agent.call('Cities?', context, { output: Cities });
    expect(reply.output).toEqual(whole);
    model.assertComplete();
  });

  it('is streamed as the text that it becomes', async () => {
    const { agent } = setUp([byTool(BERN)]);
    const events = await collect(agent.stream('?', context, { output: Weather }));
    const text = events.flatMap((event) => (event.type === 'text.delta' ? [event.text] : [])).join('');
    expect(JSON.parse(text)).toEqual(BERN);
    expect(events.some((event) => event.type === 'tool.call')).toBe(false);
  });

  it('drops the thoughts that led to the call with it', async () => {
    const { agent } = setUp([{ thinking: 'Hm', ...byTool(BERN) }]);
    const reply = await agent.call('?', context, { output: Weather });
    expect(reply.message?.content.map((block) => block.type)).toEqual(['text']);
  });
});

describe('an answer by the response format', () => {
  it('is told the schema, and no tool', async () => {
    const { agent, model } = setUp([byFormat(BERN)], true);
    await agent.call('?', context, { output: Weather });
    const [request] = model.requests;
    expect(request?.tools.map((tool) => tool.name)).toEqual(['look']);
    expect(request?.responseFormat).toMatchObject({
      type: 'json',
      schema: { type: 'object', required: ['city', 'degrees'], additionalProperties: false },
    });
  });
});

describe('an answer of another model than was asked first', () => {
  it('is asked for in the way of that model', async () => {
    const first = new ScriptedModel([{ error: new ModelError('no key', { status: 401 }) }], {
      id: 'first',
      structuredOutput: true,
    });
    const second = new ScriptedModel([byTool(BERN)], { id: 'second' });
    const agent = HarnessAgent.builder()
      .model(first, { fallback: [second] })
      .workspace(scratch())
      .build();
    expect((await agent.call('?', context, { output: Weather })).output).toEqual(BERN);
    expect(first.requests[0]).toMatchObject({ tools: [], responseFormat: { type: 'json' } });
    expect(second.requests[0]?.tools.map((tool) => tool.name)).toEqual(['final_answer']);
    expect(second.requests[0]?.responseFormat).toBeUndefined();
  });
});

describe('a schema', () => {
  it('may be plain JSON Schema', async () => {
    const { agent } = setUp([byTool({ city: 4 }), byTool({ city: 'Bern' })]);
    const output = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
    expect((await agent.call('?', context, { output })).output).toEqual({ city: 'Bern' });
  });

  it.each([
    ['that cannot be told to a model', z.object({ at: z.date() }), 'output'],
    ['of a list', z.array(z.string()), 'output: must describe an object'],
    ['of a choice', z.union([z.object({ a: z.number() }), z.string()]), 'output: must describe an object'],
  ])('%s is refused before anything is stored', async (_, output, message) => {
    const { agent } = setUp([]);
    const call = agent.call('?', context, { output: output as z.ZodType<unknown> });
    await expect(call).rejects.toBeInstanceOf(InvalidInputError);
    await expect(call).rejects.toThrow(message);
    expect(await agent.state(context)).toBeUndefined();
  });
});
