import { type CompactionCapabilityConfig, compaction, truncateArgs } from '@x/compaction';
import { ContextOverflowError, defineTool, estimateCounter, type JsonObject, RuntimeContext } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { collect, scratch } from '../support.js';

const WINDOW = 2_000;
const context = RuntimeContext.of({ sessionId: 's' });
const words = (tokens: number) => 'word '.repeat(tokens);

interface Sizes {
  readonly system?: number;
  readonly schema?: number;
  readonly result?: number;
}

function build(
  { system = 5, schema = 5, result = 5 }: Sizes,
  config: Extract<CompactionCapabilityConfig, { readonly preset?: undefined }> = {},
) {
  const model = new ScriptedModel(
    [{ toolCalls: [{ name: 'look', input: {} }] }, { text: 'done' }, { text: 'done' }],
    { id: 'small', contextWindow: WINDOW, enforceWindow: { counter: estimateCounter } },
  );
  const look = defineTool({
    name: 'look',
    description: words(schema),
    readOnly: true,
    input: { type: 'object' } as JsonObject,
    execute: () => words(result),
  });
  return HarnessAgent.builder()
    .model(model)
    .systemPrompt(words(system))
    .tools(look)
    .workspace(scratch())
    .settings({ maxRetries: 0 })
    .use(compaction({ model: null, counter: estimateCounter, ...config }))
    .build();
}

async function failureOf(agent: HarnessAgent, input = 'Go'): Promise<ContextOverflowError> {
  const error: unknown = await agent.call(input, context).catch((thrown: unknown) => thrown);
  if (!ContextOverflowError.isInstance(error))
    throw new Error('The call did not overflow.', { cause: error });
  return error;
}

describe('a request that no compaction can make fit', () => {
  it.each<[string, Sizes, number, 'system' | 'tools' | 'conversation' | 'toolResults', RegExp]>([
    ['the system prompt', { system: 3_000 }, 1, 'system', /system prompt 3\d{3},/],
    ['the tools', { schema: 3_000 }, 1, 'tools', /tool schemas 3\d{3},/],
    ['what the user says', {}, 3_000, 'conversation', /messages 3\d{3},/],
    ['a result', { result: 3_000 }, 1, 'toolResults', /messages 3\d{3},/],
  ])('fails with what fills it: %s', async (_, sizes, said, source, filled) => {
    // Arguments alone are cut, so that what the tool returned stays what it is.
    const agent = build(sizes, { stages: [truncateArgs()] });
    const error = await failureOf(agent, words(said));
    expect(error).toMatchObject({ code: 'context_overflow', modelId: 'small', contextWindow: WINDOW });
    expect(error.message).toMatch(filled);
    expect(error.message).toContain(`the context window of small (${WINDOW} tokens)`);
    expect(error.usage?.[source]).toBeGreaterThan(WINDOW);
    expect(error.usage?.total).toBeLessThan((error.usage?.[source] ?? 0) * 1.1);
    expect(ContextOverflowError.isInstance(error.cause)).toBe(true);
    expect((await agent.state(context))?.context[0]).toMatchObject({ role: 'user' });
    await agent.close();
  });

  it('has one size, before the provider refuses it and after', async () => {
    const sizes: number[] = [];
    const read = async () => {
      for await (const event of build({}).stream(words(3_000), context))
        if (event.type === 'context.compacted') sizes.push(event.tokensBefore);
    };
    await expect(read()).rejects.toThrow('context window');
    expect(new Set(sizes).size).toBe(1);
  });

  it('fails on stream alike', async () => {
    const agent = build({ system: 3_000 });
    const events: unknown[] = [];
    const streaming = (async () => {
      for await (const event of agent.stream('Go', context)) events.push(event);
    })();
    await expect(streaming).rejects.toThrow(/system prompt 3\d{3}, tool schemas \d+, messages \d+/);
    expect(events.at(-1)).toMatchObject({
      type: 'call.failed',
      error: { usage: { system: expect.any(Number) } },
    });
    await agent.close();
  });

  it('fails with the provider’s own error where nothing was to be compacted', async () => {
    const skipping = build({ system: 3_000 }, { beforeCompaction: () => ({ skip: true }) });
    expect((await failureOf(skipping)).usage).toBeUndefined();
    await skipping.close();

    const refusal = new Error('maximum context length exceeded');
    const plain = HarnessAgent.builder()
      .model({ id: 'raw', generate: () => Promise.reject(refusal) })
      .workspace(scratch())
      .build();
    await expect(plain.call('Go', context)).rejects.toBe(refusal);
    await plain.close();
  });

  it('is no end of the session: a shorter system prompt goes on with it', async () => {
    const directory = scratch();
    const model = () =>
      new ScriptedModel([{ text: 'done' }], {
        contextWindow: WINDOW,
        enforceWindow: { counter: estimateCounter },
      });
    const agent = (system: number) =>
      HarnessAgent.builder()
        .model(model())
        .systemPrompt(words(system))
        .workspace(directory)
        .use(compaction({ model: null, counter: estimateCounter }))
        .build();
    const first = agent(3_000);
    await failureOf(first);
    await first.close();
    const second = agent(10);
    const events = await collect(second.resumeStream(context));
    expect(events.at(-1)).toMatchObject({ type: 'call.completed', stopReason: 'completed' });
    expect((await second.state(context))?.context.map(({ role }) => role)).toEqual(['user', 'assistant']);
    await second.close();
  });
});
