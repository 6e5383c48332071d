import {
  assistantMessage,
  ContextOverflowError,
  estimateCounter,
  ModelError,
  type ModelRequest,
  type ModelStreamPart,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { countRequest, type ToolDefinition } from '@x/core/messages';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IncompleteScriptError, ScriptedModel, UnexpectedModelCallError } from '../src/index.js';

const weather: ToolDefinition = {
  name: 'get_weather',
  description: 'Weather',
  inputSchema: { type: 'object' },
};

function request(text = 'Hello', extra: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: [userMessage(text)], tools: [], ...extra };
}

async function collect(stream: AsyncIterable<ModelStreamPart>): Promise<ModelStreamPart[]> {
  const parts: ModelStreamPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

describe('answers', () => {
  it('gives text, thinking, content and tool calls in that order, with a finish reason to match', async () => {
    const opaque = { type: 'opaque', provider: 'acme', data: { a: 1 } } as const;
    const model = new ScriptedModel([
      { text: 'Hi' },
      {
        toolCalls: [{ name: 'get_weather', input: { city: 'Bern' } }],
        content: [opaque],
        thinking: 'Hm',
        text: 'So',
      },
      { text: 'cut', finishReason: 'length', providerMetadata: { acme: { id: 'r1' } } },
    ]);
    expect(await model.generate(request())).toMatchObject({
      content: [{ type: 'text', text: 'Hi' }],
      finishReason: 'stop',
    });
    expect(await model.generate(request())).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Hm' },
        { type: 'text', text: 'So' },
        opaque,
        { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Bern' } },
      ],
      finishReason: 'tool-calls',
    });
    expect(await model.generate(request())).toMatchObject({
      finishReason: 'length',
      providerMetadata: { acme: { id: 'r1' } },
    });
    model.assertComplete();
  });

  it('counts usage unless told', async () => {
    const usage = { inputTokens: 7, outputTokens: 3, cachedInputTokens: 5 };
    const model = new ScriptedModel([
      { text: 'abcd'.repeat(10) },
      { text: 'x', usage },
      { text: 'x', usage: 'none' },
    ]);
    const first = await model.generate(request('abcd'.repeat(100), { tools: [weather], system: 'Be kind.' }));
    const [sent] = model.requests;
    expect(first.usage?.inputTokens).toBe(sent && countRequest(estimateCounter, sent));
    expect(first.usage?.outputTokens).toBe(estimateCounter.count('abcd'.repeat(10)));
    expect((await model.generate(request())).usage).toEqual(usage);
    expect('usage' in (await model.generate(request()))).toBe(false);
  });

  it('never invents an id that it made before, or that the conversation or the answer holds', async () => {
    const earlier = assistantMessage([{ type: 'tool_use', id: 'call_1', name: 'a', input: {} }]);
    const model = new ScriptedModel([
      {
        toolCalls: [
          { name: 'b', input: {} },
          { name: 'b', input: {}, id: 'call_2' },
          { name: 'b', input: {} },
        ],
      },
      { toolCalls: [{ name: 'b', input: {} }] },
    ]);
    const { content } = await model.generate(request('', { messages: [userMessage('go'), earlier] }));
    expect(content.map((block) => (block.type === 'tool_use' ? block.id : ''))).toEqual([
      'call_3',
      'call_2',
      'call_4',
    ]);
    expect((await model.generate(request())).content[0]).toMatchObject({ id: 'call_5' });
  });

  it('asks functions, with what was requested', async () => {
    const model = new ScriptedModel([
      (asked) => ({ text: `${asked.messages.length}` }),
      async () => ({ text: 'later' }),
    ]);
    expect((await model.generate(request())).content).toEqual([{ type: 'text', text: '1' }]);
    expect((await model.generate(request())).content).toEqual([{ type: 'text', text: 'later' }]);
  });

  it('throws what it is told to throw', async () => {
    const error = new Error('boom');
    const model = new ScriptedModel([{ error }, { error }]);
    await expect(model.generate(request())).rejects.toBe(error);
    await expect(collect(model.stream(request()))).rejects.toBe(error);
  });
});

describe('matchers', () => {
  it('answer whichever call they fit, as often as they say', async () => {
    const model = new ScriptedModel([
      { text: 'first' },
      { when: /weather/gi, reply: { text: 'sunny' }, times: 2 },
      {
        when: (asked) => asked.tools.length > 0,
        reply: () => ({ text: 'tools' }),
        times: Number.POSITIVE_INFINITY,
      },
    ]);
    const ask = async (text: string, extra: Partial<ModelRequest> = {}) =>
      (await model.generate(request(text, extra))).content[0];
    expect(await ask('Weather?')).toMatchObject({ text: 'sunny' });
    expect(await ask('Hello')).toMatchObject({ text: 'first' });
    expect(await ask('weather!')).toMatchObject({ text: 'sunny' });
    model.assertComplete();
    expect(await ask('x', { tools: [weather] })).toMatchObject({ text: 'tools' });
    await expect(ask('weather')).rejects.toThrow(UnexpectedModelCallError);
  });

  it('read the last user or tool message and look past injected ones', async () => {
    const call = { type: 'tool_use', id: 'c', name: 'get_weather', input: {} } as const;
    const model = new ScriptedModel([{ when: /^Sunny$/, reply: { text: 'ok' } }]);
    const messages = [
      userMessage('Weather?'),
      assistantMessage([call]),
      toolResultMessage(call, 'Sunny'),
      userMessage('Remember the plan', { kind: 'synthetic' }),
    ];
    await expect(model.generate({ messages, tools: [] })).resolves.toMatchObject({ finishReason: 'stop' });
  });
});

describe('strictness', () => {
  it('refuses an unscripted call and says what was asked', async () => {
    const model = new ScriptedModel([{ text: 'only' }, { when: /never/, reply: { text: 'x' } }], {
      id: 'unit',
    });
    await model.generate(request());
    const error: unknown = await model
      .generate(request('What now?', { tools: [weather], system: 'Be brief.' }))
      .catch((caught) => caught);
    expect(UnexpectedModelCallError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ code: 'unexpected_model_call', call: 2, modelId: 'unit' });
    expect(String(error)).toMatch(/unit.*2nd.*0 in order, 1 for \/never\//);
    expect(String(error)).toMatch(/get_weather[\s\S]*Be brief\.[\s\S]*user.*What now\?/);
  });

  it('reports the unscripted call again when the code under test swallowed it', async () => {
    const model = new ScriptedModel([]);
    await model.generate(request()).catch(() => {});
    expect(() => model.assertComplete()).toThrow(UnexpectedModelCallError);
  });

  it('reports replies that were not requested', async () => {
    const model = new ScriptedModel([
      { text: 'a' },
      { text: 'b' },
      { when: /x/, reply: { text: 'c' }, times: 3 },
    ]);
    await model.generate(request());
    expect(() => model.assertComplete()).toThrow(IncompleteScriptError);
    expect(() => model.assertComplete()).toThrow(/called 1 time, and 4 .*1 in order, 3 for \/x\//);
  });

  it('keeps requests as they were, and frozen', async () => {
    const model = new ScriptedModel([{ text: 'a' }]);
    const messages = [userMessage('one')];
    await model.generate({ messages, tools: [] });
    messages.push(userMessage('two'));
    expect(model.requests[0]?.messages).toHaveLength(1);
    expect(() => Object.assign(messages[0]?.content[0] ?? {}, { text: 'changed' })).toThrow(TypeError);
    expect(Object.isFrozen(model.requests[0])).toBe(true);
  });
});

describe('window', () => {
  it('refuses what is too large without using the script', async () => {
    const model = new ScriptedModel([{ text: 'fits' }], {
      contextWindow: 100,
      enforceWindow: { counter: estimateCounter },
    });
    const error: unknown = await model.generate(request('x'.repeat(1000))).catch((caught) => caught);
    expect(ContextOverflowError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ contextWindow: 100, modelId: 'scripted' });
    await expect(model.generate(request())).resolves.toMatchObject({ finishReason: 'stop' });
    expect(model.requests).toHaveLength(2);
    model.assertComplete();
  });

  it('is 128 000 tokens unless it is set', async () => {
    const model = new ScriptedModel([], { enforceWindow: { counter: estimateCounter } });
    await expect(model.generate(request('x'.repeat(1_000_000)))).rejects.toMatchObject({
      code: 'context_overflow',
      contextWindow: 128_000,
    });
  });
});

describe('stream', () => {
  it('yields the pieces of the script, then the response once', async () => {
    const model = new ScriptedModel([{ chunks: ['He', 'llo ', 'there'] }]);
    const parts = await collect(model.stream(request()));
    expect(parts.slice(0, -1)).toEqual(['He', 'llo ', 'there'].map((text) => ({ type: 'text-delta', text })));
    expect(parts.at(-1)).toMatchObject({
      type: 'response',
      response: { content: [{ type: 'text', text: 'Hello there' }] },
    });
  });

  it('breaks off after as many deltas as told', async () => {
    const model = new ScriptedModel([
      { text: 'one two three', errorAfter: 2 },
      { text: 'one', errorAfter: 9, error: 'mine' },
    ]);
    const seen: ModelStreamPart[] = [];
    const play = async () => {
      for await (const part of model.stream(request())) seen.push(part);
    };
    const error: unknown = await play().catch((caught) => caught);
    expect(ModelError.isInstance(error) && error.retryable).toBe(true);
    expect(seen).toEqual([
      { type: 'text-delta', text: 'one ' },
      { type: 'text-delta', text: 'two ' },
    ]);
    await expect(collect(model.stream(request()))).rejects.toBe('mine');
  });

  it('yields deltas that add up to the response, whatever it holds', async () => {
    const answers = fc.record({
      text: fc.string({ unit: 'binary' }),
      thinking: fc.string({ unit: 'binary' }),
      toolCalls: fc.array(
        fc.record({ name: fc.string(), input: fc.jsonValue({ maxDepth: 2 }).map((v) => v as never) }),
      ),
    });
    await fc.assert(
      fc.asyncProperty(answers, async (answer) => {
        const parts = await collect(new ScriptedModel([answer]).stream(request()));
        const joined = (type: 'text-delta' | 'thinking-delta') =>
          parts.map((part) => (part.type === type ? part.text : '')).join('');
        expect(joined('text-delta')).toBe(answer.text);
        expect(joined('thinking-delta')).toBe(answer.thinking);
        const inputs = new Map<string, string>();
        for (const part of parts) {
          if (part.type !== 'tool-call-delta') continue;
          expect(() => encodeURIComponent(part.inputDelta)).not.toThrow();
          inputs.set(part.id, (inputs.get(part.id) ?? '') + part.inputDelta);
        }
        expect([...inputs.values()]).toEqual(answer.toolCalls.map((call) => JSON.stringify(call.input)));
        expect(parts.filter((part) => part.type === 'response')).toHaveLength(1);
        expect(parts.at(-1)?.type).toBe('response');
      }),
    );
  });
});

describe('abort', () => {
  it('rejects with the reason before, while waiting for a function, and between deltas', async () => {
    const reason = new Error('stop');
    const model = new ScriptedModel([
      () => new Promise(() => {}),
      () => {
        second.abort(reason);
        return { text: 'too late' };
      },
      { text: 'one two three' },
    ]);
    await expect(model.generate(request('', { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    expect(model.requests).toHaveLength(0);

    const first = new AbortController();
    const waiting = model.generate(request('', { signal: first.signal }));
    first.abort(reason);
    await expect(waiting).rejects.toBe(reason);

    const second = new AbortController();
    await expect(model.generate(request('', { signal: second.signal }))).rejects.toBe(reason);

    const third = new AbortController();
    const seen: ModelStreamPart[] = [];
    const play = async () => {
      for await (const part of model.stream(request('', { signal: third.signal }))) {
        seen.push(part);
        third.abort(reason);
      }
    };
    await expect(play()).rejects.toBe(reason);
    expect(seen).toHaveLength(1);
  });
});
