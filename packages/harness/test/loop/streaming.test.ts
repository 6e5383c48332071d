import { setImmediate as turn } from 'node:timers/promises';
import { compaction } from '@x/compaction';
import {
  type AgentEvent,
  type Capability,
  defineTool,
  type Model,
  ModelError,
  type ModelStreamPart,
  RuntimeContext,
  textOf,
} from '@x/core';
import { ScriptedModel } from '@x/testkit';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { subagents } from '../../src/capabilities/subagents/team.js';
import {
  type CallStream,
  HarnessAgent,
  type HarnessAgentBuilder,
  serverSentEvents,
} from '../../src/index.js';
import { collect, scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's-1' });

function builder(model: Model): HarnessAgentBuilder<HarnessAgent> {
  return HarnessAgent.builder().model(model).workspace(scratch()).settings({ retryDelayMs: 0 });
}

/** What a loop prints that knows of two kinds of events alone. */
function printed(events: readonly AgentEvent[]): string {
  let text = '';
  for (const event of events) {
    if (event.type === 'text.delta') text += event.text;
    if (event.type === 'draft.discarded') text = text.slice(0, text.length - event.text.length);
  }
  return text;
}

/** A model that streams each answer as it is given: pieces, then what it says that they were, or a failure. */
function streaming(
  answers: readonly { readonly pieces: readonly string[]; readonly text?: string | undefined }[],
): Model {
  let at = 0;
  return {
    id: 'streaming',
    generate: () => Promise.reject(new Error('not asked for')),
    async *stream(): AsyncGenerator<ModelStreamPart> {
      const { pieces, text } = answers[at++] ?? { pieces: [], text: 'the last' };
      for (const piece of pieces) yield { type: 'text-delta', text: piece };
      if (text === undefined) throw new ModelError('Overloaded', { retryable: true });
      yield { type: 'response', response: { content: [{ type: 'text', text }], finishReason: 'stop' } };
    },
  };
}

const read = defineTool({
  name: 'read',
  description: '',
  input: z.object({}),
  readOnly: true,
  execute: () => 'content',
});

describe('what a stream tells', () => {
  it('prints each text once in a naive loop, whatever is retried, cut, replaced or not streamed', async () => {
    const piece = fc.string({ maxLength: 4 });
    const answer = fc.record({
      pieces: fc.array(piece, { maxLength: 4 }),
      text: fc.option(fc.string({ minLength: 1, maxLength: 6 }), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { maxLength: 4 }), fc.boolean(), async (answers, isReplaced) => {
        const replacing: Capability = {
          name: 'replacing',
          async aroundModel(request, _, next) {
            const response = await next(request);
            return isReplaced ? { ...response, content: [{ type: 'text', text: 'replaced' }] } : response;
          },
        };
        const agent = builder(streaming(answers)).settings({ maxRetries: 9 }).use(replacing).build();
        const events = await collect(agent.stream('Go', RuntimeContext.of({ userId: 'alice' })));
        const messages = events.flatMap((event) =>
          event.type === 'message.added' && event.message.role === 'assistant' ? [event.message] : [],
        );
        expect(printed(events)).toBe(messages.map((message) => textOf(message)).join(''));
      }),
      { numRuns: 40 },
    );
  });

  it('discards the half of a draft that failed, and names message and draft in every delta', async () => {
    const agent = builder(
      streaming([{ pieces: ['Ha', 'lf'] }, { pieces: ['Whole'], text: 'Whole' }]),
    ).build();
    const events = await collect(agent.stream('Go', context));
    const told = events.flatMap((event) =>
      event.type === 'text.delta' || event.type === 'draft.discarded' ? [event] : [],
    );
    expect(told.map(({ type, text, draft }) => [type, text, draft])).toEqual([
      ['text.delta', 'Ha', 1],
      ['text.delta', 'lf', 1],
      ['draft.discarded', 'Half', 1],
      ['text.delta', 'Whole', 2],
    ]);
    const answer = events.find((event) => event.type === 'model.completed');
    expect(new Set(told.map(({ messageId }) => messageId))).toEqual(new Set([answer?.message.id]));
  });

  it('counts events, and names agent, session, call and step in each', async () => {
    const agent = builder(
      new ScriptedModel([{ toolCalls: [{ name: 'read', input: {} }] }, { text: 'Read.' }]),
    )
      .name('reader')
      .tools(read)
      .build();
    const events = await collect(agent.stream('Go', context));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(new Set(events.map(({ agentId, sessionId }) => `${agentId} ${sessionId}`))).toEqual(
      new Set(['reader s-1']),
    );
    expect(new Set(events.map(({ callId }) => callId)).size).toBe(1);
    const steps = events.map(({ step }) => step);
    expect(steps.toSorted((left, right) => left - right)).toEqual(steps);
    expect([steps[0], steps.at(-1)]).toEqual([0, 2]);
  });

  it('keeps an event as it was when a capability emitted it, though the object changes', async () => {
    const events = await collect(
      builder(new ScriptedModel([{ text: 'ok' }]))
        .use({
          name: 'progress',
          aroundReason(scope, next) {
            const event = { type: 'text.delta' as const, messageId: 'm', draft: 1, text: 'a' };
            scope.emit(event);
            event.text = 'b';
            scope.emit(event);
            return next();
          },
        })
        .build()
        .stream('Go', context),
    );
    expect(printed(events)).toBe('abok');
  });

  it('streams the input of a tool call', async () => {
    const call = { name: 'read', input: { path: 'src/a.ts' }, id: 'call-1' };
    const agent = builder(new ScriptedModel([{ toolCalls: [call] }, { text: 'Read.' }]))
      .tools(read)
      .build();
    const events = await collect(agent.stream('Go', context));
    const input = events.flatMap((event) => (event.type === 'tool.delta' ? [event.inputDelta] : [])).join('');
    expect(JSON.parse(input)).toEqual(call.input);
  });

  it('returns the reply, and promises it', async () => {
    const agent = builder(new ScriptedModel([{ text: 'one' }, { text: 'two' }, { text: 'three' }])).build();
    const stream = agent.stream('Go', context);
    let last = await stream.next();
    while (!last.done) last = await stream.next();
    expect(last.value).toMatchObject({ text: 'one', stopReason: 'completed' });
    expect(await stream.reply).toBe(last.value);
    expect((await agent.stream('Go', context).reply).text).toBe('two');
    const looped = agent.stream('Go', context);
    for await (const event of looped) expect(event.sessionId).toBe('s-1');
    expect((await looped.reply).text).toBe('three');
  });
});

describe('a tool that tells how far it is', () => {
  const tools = {
    'by onUpdate': defineTool({
      name: 'work',
      description: '',
      input: z.object({}),
      async execute(_, { onUpdate }) {
        onUpdate('half');
        await turn();
        onUpdate('nearly');
        return 'done';
      },
    }),
    'as a generator that returns': defineTool({
      name: 'work',
      description: '',
      input: z.object({}),
      async *execute() {
        yield 'half';
        yield 'nearly';
        return 'done';
      },
    }),
    'as a generator whose last value counts': defineTool({
      name: 'work',
      description: '',
      input: z.object({}),
      async *execute() {
        yield 'half';
        yield 'nearly';
        yield 'done';
      },
    }),
  };

  it.each(Object.entries(tools))('%s', async (_, tool) => {
    const model = new ScriptedModel([{ toolCalls: [{ name: 'work', input: {} }] }, { text: 'ok' }]);
    const events = await collect(builder(model).tools(tool).build().stream('Go', context));
    const types = events.map(({ type }) => type);
    const progress = events.flatMap((event) =>
      event.type === 'tool.progress' ? [textOf(event.output)] : [],
    );
    expect(progress.slice(0, 2)).toEqual(['half', 'nearly']);
    expect(types.lastIndexOf('tool.progress')).toBeLessThan(types.indexOf('tool.result'));
    expect(textOf(model.requests[1]?.messages.at(-1) ?? [])).toBe('done');
  });

  it('is not heard any more when its call is over', async () => {
    let update = (_: string) => {};
    const tool = defineTool({
      name: 'work',
      description: '',
      input: z.object({}),
      execute(_, { onUpdate }) {
        update = onUpdate;
        return 'done';
      },
    });
    const heard: string[] = [];
    const model = new ScriptedModel([{ toolCalls: [{ name: 'work', input: {} }] }, { text: 'ok' }]);
    const agent = builder(model)
      .tools(tool)
      .onEvent(({ type }) => heard.push(type))
      .build();
    await agent.call('Go', context);
    update('late');
    expect(heard).not.toContain('tool.progress');
  });

  it('ends a generator that is interrupted at its next value', async () => {
    let isOver = false;
    const tool = defineTool({
      name: 'work',
      description: '',
      input: z.object({}),
      async *execute() {
        try {
          for (;;) {
            yield 'on';
            await turn();
          }
        } finally {
          isOver = true;
        }
      },
    });
    const agent = builder(new ScriptedModel([{ toolCalls: [{ name: 'work', input: {} }] }]))
      .tools(tool)
      .build();
    for await (const event of agent.stream('Go', context)) {
      if (event.type === 'tool.progress') agent.interrupt(context);
    }
    while (!isOver) await turn();
    expect(isOver).toBe(true);
  });
});

describe('a reader who leaves while it waits for the next event', () => {
  it.each<readonly [string, (events: CallStream, quiet: Promise<void>) => Promise<void>]>([
    [
      'of the stream',
      async (events, quiet) => {
        let pending = events.next();
        const reading = (async () => {
          while (!(await pending).done) pending = events.next();
        })();
        await quiet;
        await events.return(undefined as never);
        await reading;
      },
    ],
    [
      'of an HTTP answer',
      async (events, quiet) => {
        const reader = (await serverSentEvents(events)).body?.getReader();
        const reading = (async () => {
          while (!(await reader?.read())?.done);
        })();
        await quiet;
        await reader?.cancel();
        await reading;
      },
    ],
  ])('%s ends the call', async (_, leave) => {
    let begun = () => {};
    const atWork = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const endless = defineTool({
      name: 'wait',
      description: '',
      input: z.object({}),
      execute: async (_, { signal }) => {
        begun();
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        return 'never';
      },
    });
    const agent = builder(new ScriptedModel([{ toolCalls: [{ name: 'wait', input: {} }] }]))
      .tools(endless)
      .build();
    const events = agent.stream('Go', context);
    const quiet = atWork.then(async () => {
      // The reader has all there is, and waits.
      for (let turns = 0; turns < 20; turns++) await turn();
    });
    await leave(events, quiet);
    expect((await events.reply).stopReason).toBe('interrupted');
  });
});

it('holds the events of subagents, each in one that names its task', async () => {
  const helping = new ScriptedModel([{ text: 'from the child' }]);
  const child = { name: 'helper', description: 'Helps.', systemPrompt: 'Help.', model: helping };
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'agent_spawn', input: { agent: 'helper', task: 'Look' } }] },
    { text: 'from the parent' },
  ]);
  const agent = builder(model)
    .use(subagents([child]))
    .build();
  const events = await collect(agent.stream('Go', context));
  expect(printed(events)).toBe('from the parent');
  const below = events.flatMap((event) => (event.type === 'subagent.event' ? [event] : []));
  expect(printed(below.map(({ event }) => event))).toBe('from the child');
  const task = events.find((event) => event.type === 'task.changed');
  expect(new Set(below.map(({ taskId, subagent }) => `${taskId} ${subagent}`))).toEqual(
    new Set([`${task?.taskId} helper`]),
  );
  expect(below[0]?.event).toMatchObject({ type: 'call.started', agentId: 'agent/helper' });
});

describe('a reader who stops reading', () => {
  it('ends the call once its limit is over, and finds all of it when it reads on', async () => {
    const model: Model = {
      id: 'talking',
      generate: async () => ({ content: [{ type: 'text', text: 'two' }], finishReason: 'stop' }),
      async *stream() {
        for (let part = 0; part < 2_000; part++) yield { type: 'text-delta', text: '.' };
      },
    };
    const agent = builder(model).limits({ readerMs: 10 }).build();
    const reading = agent.stream('One', context);
    const seqs = [(await reading.next()).value];
    // It has the session's turn until then.
    expect(await agent.call('Two', context)).toMatchObject({ text: 'two' });
    let last = await reading.next();
    for (; !last.done; last = await reading.next()) seqs.push(last.value);
    expect(last.value).toMatchObject({ stopReason: 'timed_out' });
    expect(seqs.map((event) => (event as AgentEvent).seq)).toEqual(seqs.map((_, index) => index + 1));
    expect(seqs).toContainEqual(
      expect.objectContaining({ type: 'warning', message: expect.stringContaining('limits.readerMs') }),
    );
  });
});

describe('a reader who comes back', () => {
  it('goes on behind the last event it had, to the same reply', async () => {
    const release = deferred();
    const agent = builder(
      new ScriptedModel([{ text: 'first', toolCalls: [{ name: 'wait', input: {} }] }, { text: 'second' }]),
    )
      .tools(
        defineTool({
          name: 'wait',
          description: '',
          input: z.object({}),
          execute: () => release.promise.then(() => 'ok'),
        }),
      )
      .build();
    expect(agent.follow(context)).toBeUndefined();
    const calling = agent.stream('Go', context);
    const had: AgentEvent[] = [];
    const reply = calling.reply;
    while (had.at(-1)?.type !== 'tool.call') {
      const follower = agent.follow(context, { after: had.at(-1) });
      const { value } = (await follower?.next()) ?? {};
      if (value !== undefined && 'seq' in value) had.push(value);
      await follower?.return(undefined as never);
    }
    const rest = agent.follow(context, { after: had.at(-1) });
    release.resolve(undefined);
    for (;;) {
      const { done, value } = (await rest?.next()) ?? { done: true, value: undefined };
      if (done) {
        expect(value).toBe(await reply);
        break;
      }
      had.push(value);
    }
    expect(had.map(({ seq }) => seq)).toEqual(had.map((_, index) => index + 1));
    expect(had.at(-1)?.type).toBe('call.completed');
    expect(printed(had)).toBe('firstsecond');
  });

  it.each(['call', 'failing call', 'command'])('ends with what is followed: a %s', async (kind) => {
    const release = deferred();
    const generate = async () => {
      await release.promise;
      if (kind === 'failing call') throw new Error('The model is down.');
      return { content: [{ type: 'text' as const, text: 'x' }], finishReason: 'stop' as const };
    };
    const compact = () => release.promise.then(() => ({ status: 'nothing' }) as never);
    const agent = builder({ id: 'm', generate })
      .settings({ maxRetries: 0 })
      .use({ name: 'compacts', compact })
      .build();
    const running = kind === 'command' ? agent.compact(context) : agent.call('Go', context);
    const settled = running.catch(() => {});
    const follower = await vi.waitUntil(() => agent.follow(context));
    const reading = (async () => {
      for await (const event of follower) if (event.type === 'call.started') release.resolve(undefined);
    })();
    if (kind === 'command') release.resolve(undefined);
    if (kind === 'failing call') await expect(reading).rejects.toThrow('The model is down.');
    else await reading;
    await settled;
  });

  it('follows a session over calls, commands and changes of its state, until it leaves', async () => {
    const agent = builder(new ScriptedModel([{ text: 'one' }, { error: new Error('down') }, { text: 'two' }]))
      .settings({ maxRetries: 0 })
      .use(compaction({ model: null }))
      .build();
    const following = agent.follow(context, { live: true });
    await agent.call('Go', context);
    // A call that ends before anybody reads, and one that fails.
    await expect(agent.call('Again', context)).rejects.toThrow('down');
    const had: AgentEvent[] = [];
    const reading = (async () => {
      for await (const event of following) had.push(event);
    })();
    await agent.compact(context);
    await agent.setPermissionMode(context, 'explore');
    await agent.call('And now', context);
    await vi.waitUntil(() => had.filter(({ type }) => type === 'call.completed').length === 2);
    const told = new Set(['call.completed', 'call.failed', 'context.compacted', 'state.changed']);
    expect(had.flatMap(({ type }) => (told.has(type) ? [type] : []))).toEqual([
      'call.completed',
      'call.failed',
      'context.compacted',
      'state.changed',
      'call.completed',
    ]);
    expect(had.find(({ type }) => type === 'context.compacted')).toMatchObject({
      context: { total: expect.any(Number), conversation: expect.any(Number) },
    });
    // While nothing happens it still leaves at once.
    await following.return(undefined);
    await reading;
    expect(await agent.follow(context, { live: true }).return(undefined)).toMatchObject({ done: true });
    const leaving = new AbortController();
    const waiting = agent.follow(context, { live: true, signal: leaving.signal }).next();
    leaving.abort();
    expect(await waiting).toMatchObject({ done: true });
    await agent.close();
  });

  it('follows what background work emits after its call has ended', async () => {
    const release = deferred();
    const agent = builder(new ScriptedModel([{ text: 'one' }]))
      .use({
        name: 'late',
        observe(event, scope) {
          if (event.type !== 'call.completed') return;
          scope.background('late', async () => {
            await release.promise;
            scope.emit({ type: 'memory.failed', operation: 'flush', error: 'No.' });
          });
        },
      })
      .build();
    const following = agent.follow(context, { live: true });
    await agent.call('Go', context);
    release.resolve(undefined);
    let last: AgentEvent | undefined;
    while (last?.type !== 'memory.failed') last = (await following.next()).value;
    expect(last).toMatchObject({ error: 'No.' });
    await following.return(undefined);
    await agent.close();
  });

  it.each([
    ['of no event', () => '2', 'invalid_input'],
    ['with a negative number', (callId: string) => `${callId}:-1`, 'invalid_input'],
    ['without a number', (callId: string) => ({ callId }), 'invalid_input'],
    ['with a number to come', (callId: string) => ({ callId, seq: 500 }), 'events_gone'],
    ['of another call', () => 'another-call:1', 'events_gone'],
  ])('refuses a cursor %s', async (_, cursorOf, code) => {
    const release = deferred();
    const generate = async () => {
      await release.promise;
      return { content: [{ type: 'text' as const, text: 'x' }], finishReason: 'stop' as const };
    };
    const agent = builder({ id: 'm', generate }).build();
    const call = agent.call('Go', context);
    await vi.waitUntil(() => agent.follow(context));
    const { value } = (await agent.follow(context)?.next()) ?? {};
    const after = cursorOf(Object(value).callId) as string;
    const read = async () => agent.follow(context, { after })?.next();
    await expect(read()).rejects.toMatchObject({ code });
    release.resolve(undefined);
    await call;
  });
});

function deferred() {
  let resolve = (_: unknown) => {};
  const promise = new Promise((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
