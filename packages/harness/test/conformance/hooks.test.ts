import { type Capability, defineTool, InMemorySession, RuntimeContext, textOf, userMessage } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const tool = defineTool({
  name: 'act',
  description: 'Acts',
  readOnly: true,
  input: z.object({}),
  execute: () => 'done',
});
const acting = { toolCalls: [{ name: 'act', input: {} }] };

/** Notes when each of its hooks begins and ends. */
function noting(name: string, notes: string[]): Capability {
  const around = async <Result>(hook: string, next: () => Promise<Result>): Promise<Result> => {
    notes.push(`${hook} ${name}`);
    const result = await next();
    notes.push(`/${hook} ${name}`);
    return result;
  };
  return {
    name,
    aroundCall: (_, next) => around('call', next),
    aroundReason: (_, next) => around('reason', next),
    aroundModel: (request, _, next) => around('model', () => next(request)),
    aroundTool: (call, _, next) => around('tool', () => next(call)),
  };
}

describe('the hooks of capabilities', () => {
  it('lie around each other as they were installed, the first outermost', async () => {
    const notes: string[] = [];
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([acting, { text: 'ok' }]))
      .workspace(scratch())
      .tools(tool)
      .use(noting('outer', notes), noting('inner', notes))
      .build();
    await agent.call('go', context);
    const onion = (hook: string, within: readonly string[] = []) => [
      `${hook} outer`,
      `${hook} inner`,
      ...within,
      `/${hook} inner`,
      `/${hook} outer`,
    ];
    const step = onion('reason', onion('model'));
    expect(notes).toEqual(onion('call', [...step, ...onion('tool'), ...step]));
  });

  it('change the view alone: what they add is seen by the model, and never stored', async () => {
    const session = new InMemorySession();
    const model = new ScriptedModel([acting, { text: 'ok' }, { text: 'ok' }]);
    const build = () =>
      HarnessAgent.builder()
        .model(model)
        .workspace(scratch())
        .session(session)
        .tools(tool)
        .use({
          name: 'whisper',
          system: () => 'Be kind.',
          remind: () => [userMessage('It is late.', { kind: 'synthetic' })],
          aroundModel: (request, _, next) =>
            next({ ...request, messages: [userMessage('First of all:'), ...request.messages] }),
        })
        .build();
    await build().call('go', context);
    await build().call('again', context);
    for (const request of model.requests) {
      expect(request.system).toContain('Be kind.');
      expect(textOf(request.messages[0] ?? [])).toBe('First of all:');
      expect(textOf(request.messages.at(-1) ?? [])).toBe('It is late.');
      expect(request.messages.filter((message) => textOf(message) === 'It is late.')).toHaveLength(1);
    }
    expect(JSON.stringify(await build().state(context))).not.toMatch(/It is late|First of all|Be kind/);
  });

  it('may answer in the place of the model or of a tool', async () => {
    const model = new ScriptedModel([acting]);
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(scratch())
      .tools({ ...tool, run: () => Promise.reject(new Error('must not run')) })
      .use({
        name: 'stand_in',
        aroundTool: async ({ id, name }) => ({
          type: 'tool_result',
          toolUseId: id,
          toolName: name,
          output: [{ type: 'text', text: 'from the cache' }],
          isError: false,
        }),
        aroundModel: (request, { step }, next) =>
          step === 1
            ? next(request)
            : Promise.resolve({
                content: [{ type: 'text', text: textOf(request.messages.at(-1) ?? []) }],
                finishReason: 'stop',
              }),
      })
      .build();
    expect((await agent.call('go', context)).text).toBe('from the cache');
    expect(model.requests).toHaveLength(1);
  });

  it('that fail end the call with their own error, with the conversation stored and in order', async () => {
    const failure = new Error('no quota');
    const agent = (fails: boolean) =>
      HarnessAgent.builder()
        .model(new ScriptedModel([{ text: 'ok' }]))
        .workspace(directory)
        .use({
          name: 'quota',
          aroundModel: (request, _, next) => (fails ? Promise.reject(failure) : next(request)),
        })
        .build();
    const directory = scratch();
    await expect(agent(true).call('one', context)).rejects.toBe(failure);
    await agent(false).call('two', context);
    expect((await agent(false).state(context))?.context.map(textOf)).toEqual(['one', 'two', 'ok']);
  });
});
