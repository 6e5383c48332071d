import { setImmediate as turn } from 'node:timers/promises';
import {
  type Capability,
  defineTool,
  type FinishReason,
  InMemorySession,
  type Model,
  RuntimeContext,
  type Tool,
  type ToolContext,
  textOf,
  toolResultsOf,
  type Usage,
} from '@x/core';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { budget, HarnessAgent } from '../../src/index.js';
import { collect, isPaired, scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });

function builder(script: readonly ScriptEntry[] | Model) {
  return HarnessAgent.builder()
    .model('id' in script ? script : new ScriptedModel(script))
    .workspace(scratch())
    .session(new InMemorySession())
    .settings({ maxRetries: 1, retryDelayMs: 0 });
}

interface Options extends Partial<Pick<Tool, 'readOnly' | 'parallel'>> {
  readonly run?: (signal: AbortSignal) => unknown;
}

function tool(name: string, { run = () => 'done', readOnly = false, parallel = false }: Options = {}): Tool {
  const execute = async (_: unknown, { signal }: ToolContext) => String(await run(signal));
  return defineTool({ name, description: name, input: { type: 'object' }, readOnly, parallel, execute });
}

const calls = (...names: string[]): ScriptEntry => ({
  toolCalls: names.map((name) => ({ name, input: {} })),
});

async function resultsOf(agent: HarnessAgent) {
  const messages = (await agent.state(context))?.context ?? [];
  expect(isPaired(messages)).toBe(true);
  return messages.flatMap(toolResultsOf).map(({ output, isError }) => ({ text: textOf(output), isError }));
}

describe('the end of a call', () => {
  it.each([
    ['stop', 'completed'],
    ['other', 'completed'],
    ['length', 'truncated'],
    ['content-filter', 'filtered'],
    ['refusal', 'refused'],
  ] as readonly (readonly [FinishReason, string])[])('after %s is %s', async (finishReason, stopReason) => {
    const agent = builder([{ text: 'Well', finishReason }]).build();
    const stream = agent.stream('Hi', context);
    const events = await collect(stream);
    expect(events.at(-1)).toMatchObject({
      type: 'call.completed',
      stopReason,
      finishReason,
      text: 'Well',
      steps: 1,
      pendingCalls: [],
    });
    const reply = await stream.reply;
    expect(reply).toMatchObject({ stopReason, finishReason, text: 'Well' });
    expect(reply.messages.map(textOf)).toEqual(['Hi', 'Well']);
    expect(reply.responseIds).toEqual([]);
  });

  it('names the answers by the ids that the provider gave, those of all steps in order', async () => {
    const given = ['resp-1', undefined, 'resp-3'];
    const named: Capability = {
      name: 'named',
      async aroundModel(request, _, next) {
        const response = await next(request);
        const id = given.shift();
        return id === undefined ? response : { ...response, id };
      },
    };
    const agent = builder([calls('look'), calls('look'), { text: 'Seen.' }])
      .tools(tool('look'))
      .use(named)
      .build();
    expect((await agent.call('Look', context)).responseIds).toEqual(['resp-1', 'resp-3']);
  });

  it('after an error is none: the model is asked again', async () => {
    const agent = builder([{ text: 'We', finishReason: 'error' }, { text: 'Well' }]).build();
    expect(await agent.call('Hi', context)).toMatchObject({ text: 'Well', stopReason: 'completed' });
  });

  it.each(['length', 'content-filter', 'refusal'] as const)(
    'runs no call of an answer cut by %s',
    async (finishReason) => {
      const ran: string[] = [];
      const agent = builder([{ ...calls('write'), finishReason }, { text: 'In parts, then' }])
        .tools(tool('write', { run: () => ran.push('write') }))
        .build();
      const reply = await agent.call('Hi', context);
      expect(reply.stopReason).toBe(
        { length: 'completed', 'content-filter': 'filtered', refusal: 'refused' }[finishReason],
      );
      expect(ran).toEqual([]);
      expect(await resultsOf(agent)).toEqual([{ text: expect.stringContaining('Not run'), isError: true }]);
    },
  );

  it('asks for smaller calls three times in a row, and is truncated then', async () => {
    const cut: ScriptEntry = { ...calls('write'), finishReason: 'length' };
    const agentOf = (...script: readonly ScriptEntry[]) => builder(script).tools(tool('write')).build();
    const endless = await agentOf(cut, cut, cut, cut, cut).call('Hi', context);
    expect(endless).toMatchObject({ stopReason: 'truncated', steps: 4 });
    const mended = await agentOf(cut, cut, cut, calls('write'), cut, cut, { text: 'Done.' }).call(
      'Hi',
      context,
    );
    expect(mended).toMatchObject({ stopReason: 'completed', text: 'Done.' });
  });

  it('goes on with a cut answer as often as was asked for, and joins the text', async () => {
    const cut = (text: string): ScriptEntry => ({ text, finishReason: 'length' });
    const agent = (continueTruncated: number) =>
      builder([cut('One, t'), cut('wo, th'), { text: 'ree.' }])
        .settings({ continueTruncated })
        .build();
    expect(await agent(2).call('Count', context)).toMatchObject({
      text: 'One, two, three.',
      stopReason: 'completed',
    });
    expect(await agent(1).call('Count', context)).toMatchObject({
      text: 'One, two, th',
      stopReason: 'truncated',
    });
  });

  it('with an empty answer has no text of an older step', async () => {
    const agent = builder([{ text: 'Let me check', ...calls('look') }, { text: undefined }])
      .tools(tool('look'))
      .build();
    expect(await agent.call('Hi', context)).toMatchObject({
      text: '',
      message: undefined,
      stopReason: 'completed',
    });
  });

  it.each([Number.NaN, -1, undefined])('is the budget, also where usage is %d', async (count) => {
    const odd = { inputTokens: count, outputTokens: count } as unknown as Usage;
    let steps = 0;
    const model: Model = {
      id: 'odd',
      generate: async () => ({
        content: [{ type: 'tool_use', id: `c${steps++}`, name: 'look', input: {} }],
        finishReason: 'tool-calls',
        usage: steps === 1 ? odd : { inputTokens: 500, outputTokens: 1 },
      }),
    };
    const agent = builder(model)
      .tools(tool('look'))
      .use(budget({ maxTokensPerCall: 3_000 }))
      .build();
    const reply = await agent.call('Hi', context);
    expect(reply).toMatchObject({ stopReason: 'budget_exceeded' });
    expect(reply.usage.inputTokens).toBe(3_000);
  });
});

describe('tools side by side', () => {
  it('are ended by a hook that throws for one of them, and say so', async () => {
    const hook: Capability = {
      name: 'odd',
      async aroundTool(call, _, next) {
        if (call.name !== 'b') return next(call);
        while (running.length < 2) await turn();
        throw new Error('the hook broke');
      },
    };
    const running: string[] = [];
    const ended: string[] = [];
    const untilAborted = (name: string) =>
      tool(name, {
        readOnly: true,
        async run(signal) {
          running.push(name);
          while (!signal.aborted) await turn();
          await turn();
          ended.push(name);
        },
      });
    const types: string[] = [];
    const agent = builder([calls('a', 'b', 'c')])
      .tools(untilAborted('a'), untilAborted('b'), untilAborted('c'))
      .use(hook)
      .onEvent(({ type }) => types.push(type))
      .build();
    await expect(agent.call('Hi', context)).rejects.toThrow('the hook broke');
    while (ended.length < 2) await turn();
    await turn();
    expect(types.at(-1)).toBe('call.failed');
    expect(types.filter((type) => type === 'tool.result')).toHaveLength(3);
    for (const { text } of await resultsOf(agent)) expect(text).toContain('the step failed');
  });

  it('run together where they are declared `parallel`, else alone', async () => {
    for (const parallel of [true, false]) {
      let running = 0;
      let most = 0;
      const run = async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
      };
      const agent = builder([calls('a', 'a', 'a', 'a'), { text: 'ok' }])
        .tools(tool('a', { parallel, run }))
        .build();
      await agent.call('Hi', context);
      expect(most).toBe(parallel ? 4 : 1);
    }
  });
});
