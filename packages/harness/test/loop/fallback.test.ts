import { compaction } from '@x/compaction';
import {
  type AgentEvent,
  type Capability,
  ContextOverflowError,
  defineTool,
  estimateCounter,
  type Model,
  ModelError,
  RuntimeContext,
  textOf,
} from '@x/core';
import { countRequest } from '@x/core/messages';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent } from '../../src/index.js';
import type { ModelFailure } from '../../src/loop/model-fallback.js';
import { collect, scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const overloaded = () => ({ error: new ModelError('Overloaded', { status: 529, retryable: true }) });
const refused = () => ({ error: new ModelError('Invalid API key', { status: 401 }) });

const look = defineTool({
  name: 'look',
  description: 'Looks',
  readOnly: true,
  input: z.object({ at: z.number() }),
  execute: ({ at }) => `${at}: ${'word '.repeat(400)}`,
});
const LOOK = (at: number) => ({ toolCalls: [{ name: 'look', input: { at } }] });

function modelOf(id: string, script: readonly ScriptEntry[], contextWindow?: number) {
  const enforceWindow = contextWindow === undefined ? undefined : { counter: estimateCounter };
  return new ScriptedModel(script, { id, contextWindow, enforceWindow });
}

function build(primary: ScriptedModel, ...fallback: ScriptedModel[]) {
  return HarnessAgent.builder()
    .model(primary, { fallback })
    .workspace(scratch())
    .tools(look)
    .settings({ maxRetries: 2, retryDelayMs: 0 })
    .build();
}

const fallbacks = (events: readonly AgentEvent[]) =>
  events.filter((event) => event.type === 'model.fallback');

describe('a fallback model', () => {
  it('takes over when the retries of what may pass are used up', async () => {
    const first = modelOf('first', [overloaded(), overloaded(), overloaded()]);
    const second = modelOf('second', [{ text: 'here' }]);
    const events = await collect(build(first, second).stream('Hi', context));
    expect(events.filter((event) => event.type === 'model.retrying')).toHaveLength(2);
    expect(fallbacks(events)).toMatchObject([
      { from: 'first', to: 'second', reason: 'transient', error: 'Overloaded' },
    ]);
    expect(events.at(-1)).toMatchObject({ stopReason: 'completed' });
    first.assertComplete();
  });

  it.each([
    ['a refused key', refused(), 'auth'],
    ['an exhausted quota', { error: new ModelError('Billing quota exceeded', { status: 402 }) }, 'quota'],
    ['what no adapter has wrapped', { error: new Error('socket hang up') }, 'transient'],
  ])('takes over at once after %s', async (_, failure, reason) => {
    const second = modelOf('second', [{ text: 'here' }]);
    const events = await collect(build(modelOf('first', [failure]), second).stream('Hi', context));
    expect(fallbacks(events)).toMatchObject([{ reason }]);
    expect(second.requests).toHaveLength(1);
  });

  it.each(['model', 'prepareStep'])('replaces the model of %s for the rest of the call', async (from) => {
    const chosen = modelOf('chosen', [refused()]);
    const second = modelOf('second', [LOOK(1), LOOK(2), { text: 'here' }]);
    const anew = (): Model => ({ id: chosen.id, generate: (request) => chosen.generate(request) });
    const options = from === 'model' ? { model: chosen } : { prepareStep: () => ({ model: anew() }) };
    const reply = await build(modelOf('first', []), second).call('Hi', context, options);
    expect(reply).toMatchObject({ stopReason: 'completed', text: 'here' });
    chosen.assertComplete();
  });

  it('replaces each model that prepareStep chooses, and is never its own replacement', async () => {
    const one = modelOf('one', [refused()]);
    const two = modelOf('two', [refused()]);
    const second = modelOf('second', [LOOK(1), LOOK(2), refused()]);
    const models = [one, two, second];
    const prepareStep = ({ step }: { readonly step: number }) => ({ model: models[step - 1] ?? second });
    const events: AgentEvent[] = [];
    const agent = build(modelOf('first', []), second);
    const read = async () => {
      for await (const event of agent.stream('Hi', context, { prepareStep })) events.push(event);
    };
    await expect(read()).rejects.toThrow('Invalid API key');
    expect(fallbacks(events)).toMatchObject([
      { from: 'one', to: 'second' },
      { from: 'two', to: 'second' },
    ]);
    expect(second.requests).toHaveLength(3);
  });

  it('stays for the rest of the call, and for that alone', async () => {
    const first = modelOf('first', [refused(), { text: 'back again' }]);
    const second = modelOf('second', [LOOK(1), { text: 'here' }]);
    const agent = build(first, second);
    expect((await agent.call('Hi', context)).text).toBe('here');
    expect((await agent.call('And now?', context)).text).toBe('back again');
    first.assertComplete();
    second.assertComplete();
  });

  it('is followed by the next one, and by the last one’s error', async () => {
    const agent = build(
      modelOf('first', [refused()]),
      modelOf('second', [refused()]),
      modelOf('third', [refused()]),
    );
    const events: AgentEvent[] = [];
    const read = async () => {
      for await (const event of agent.stream('Hi', context)) events.push(event);
    };
    await expect(read()).rejects.toThrow('Invalid API key');
    expect(fallbacks(events)).toMatchObject([
      { from: 'first', to: 'second' },
      { from: 'second', to: 'third' },
    ]);
  });

  it.each([
    ['a request that is refused for what it says', { error: new ModelError('flagged', { status: 400 }) }],
    ['a request that is too large for it too', { error: new ContextOverflowError() }],
  ])('does not take over after %s', async (_, failure) => {
    const second = modelOf('second', []);
    await expect(build(modelOf('first', [failure]), second).call('Hi', context)).rejects.toThrow();
    expect(second.requests).toHaveLength(0);
  });

  it('takes over a request that is too large when it has a larger window', async () => {
    const small = modelOf('small', [], 1_000);
    const large = modelOf('large', [{ text: 'read' }], 100_000);
    const reply = await build(small, large).call('word '.repeat(5_000), context);
    expect(reply.text).toBe('read');
  });

  it.each([
    [({ kind }: ModelFailure) => kind !== 'auth'],
    [async ({ kind }: ModelFailure) => kind !== 'auth'],
  ])('is left alone when `fallbackWhen` says so (%#)', async (fallbackWhen) => {
    const second = modelOf('second', []);
    const agent = HarnessAgent.builder()
      .model(modelOf('first', [refused()]), {
        fallback: [second],
        fallbackWhen,
      })
      .workspace(scratch())
      .build();
    await expect(agent.call('Hi', context)).rejects.toThrow('Invalid API key');
  });

  it('does not take over what the user interrupts', async () => {
    const second = modelOf('second', []);
    const first = modelOf('first', [
      () => {
        agent.interrupt(context);
        return refused();
      },
    ]);
    const agent = build(first, second);
    const events = await collect(agent.stream('Hi', context));
    expect(events.at(-1)).toMatchObject({ stopReason: 'interrupted' });
    expect(fallbacks(events)).toEqual([]);
  });

  it('does not take over for what is not the model’s failure', async () => {
    const second = modelOf('second', []);
    const broken: Capability = {
      name: 'broken',
      async aroundReason(_scope, next) {
        await next();
        throw new Error('The disk is full');
      },
    };
    const agent = HarnessAgent.builder()
      .model(modelOf('first', [{ text: 'fine' }]), { fallback: [second] })
      .workspace(scratch())
      .use(broken)
      .build();
    await expect(agent.call('Hi', context)).rejects.toThrow('The disk is full');
    expect(second.requests).toHaveLength(0);
  });

  it('with a smaller window reads a history that fits, from its first call on', async () => {
    const rounds = Array.from({ length: 20 }, (_, at) => LOOK(at));
    const large = modelOf('large', [...rounds, refused()], 100_000);
    const small = modelOf('small', [{ text: 'done' }], 6_000);
    const agent = HarnessAgent.builder()
      .model(large, { fallback: [small] })
      .workspace(scratch())
      .tools(look)
      .use(compaction({ model: null, keep: { tokens: 800 }, counter: estimateCounter }))
      .build();
    const events = await collect(agent.stream('Look', context));
    const [request] = small.requests;
    expect(small.requests).toHaveLength(1);
    expect(request && countRequest(estimateCounter, request)).toBeLessThanOrEqual(6_000);
    expect(events.filter((event) => event.type === 'context.compacted')).toMatchObject([
      { reason: 'proactive_budget', status: 'applied' },
    ]);
  });

  it('does not read the signed thoughts of another model, nor does that one read its', async () => {
    const signed = (thinking: string) => ({
      content: [
        { type: 'thinking', thinking, signature: `signed by ${thinking}` } as const,
        { type: 'opaque', provider: thinking, data: { id: 1 } } as const,
      ],
    });
    const first = modelOf('first', [
      { ...signed('first'), ...LOOK(1) },
      refused(),
      { ...signed('first'), text: 'again' },
    ]);
    const second = modelOf('second', [
      { ...signed('second'), ...LOOK(2) },
      { ...signed('second'), text: 'here' },
    ]);
    const agent = build(first, second);
    await agent.call('Hi', context);
    await agent.call('And now?', context);
    const authors = (
      request: { readonly messages: readonly { readonly content: readonly object[] }[] } | undefined,
    ) =>
      request?.messages.flatMap((message) =>
        message.content.flatMap((block) => ('thinking' in block ? [block.thinking] : [])),
      );
    expect(authors(second.requests[0])).toEqual([]);
    expect(authors(second.requests[1])).toEqual(['second']);
    expect(authors(first.requests[2])).toEqual(['first']);
    const texts = first.requests[2]?.messages.map((message) => [message.role, textOf(message).slice(0, 8)]);
    expect(texts?.map(([role]) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
      'user',
    ]);
    const state = await agent.state(context);
    expect(
      state?.context.filter((message) => message.content.some((block) => block.type === 'opaque')),
    ).toHaveLength(4);
  });

  describe('where the model refuses a request that holds an item of its provider', () => {
    const item = { content: [{ type: 'opaque', provider: 'acme', data: 1 } as const], text: 'One.' };
    const words = (status: number, cause: object) => ({
      error: new ModelError('Refused', { status, cause }),
    });
    const holdsItem = (message: { readonly content: readonly { readonly type: string }[] }) =>
      message.content.some(({ type }) => type === 'opaque');

    it.each([
      ['in its own words', words(400, { error: { code: 'invalid_encrypted_content' } })],
      ['in words of others', words(400, { error: { message: 'Invalid value: compaction' } })],
      ['within a stream', words(500, { data: { error: { type: 'invalid_request_error' } } })],
    ])('%s, it is asked once more without, and told of', async (_, refusal) => {
      const model = modelOf('one', [item, refusal, { text: 'Two.' }]);
      const agent = build(model, modelOf('other', []));
      await agent.call('Hi', context);
      const events = await collect(agent.stream('And now?', context));
      expect(model.requests.map(({ messages }) => messages.some(holdsItem))).toEqual([false, true, false]);
      const told = events.flatMap((event) => (event.type === 'warning' ? event.message : []));
      expect(told).toEqual([expect.stringContaining('no longer reads')]);
      expect((await agent.state(context))?.context.some(holdsItem)).toBe(false);
    });

    it('and without it too, the item stays', async () => {
      const bad = { error: new ModelError('Bad', { status: 400 }) };
      // As it is, without the item, without what the answer said, and without what the user had said.
      const model = modelOf('one', [item, bad, bad, bad, bad, { text: 'Two.' }]);
      const agent = build(model);
      await agent.call('Hi', context);
      await expect(agent.call('And now?', context)).rejects.toThrow('Bad');
      await agent.call('And now?', context);
      expect(model.requests.map(({ messages }) => messages.some(holdsItem))).toEqual([
        false,
        true,
        ...[false, false, false],
        true,
      ]);
    });
  });
});
