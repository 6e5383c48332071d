import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compaction, toolResultEviction } from '@x/compaction';
import {
  type AgentEvent,
  ContextOverflowError,
  defineTool,
  estimateCounter,
  InMemorySession,
  RuntimeContext,
  SessionConflictError,
  SessionKey,
  type SessionStore,
  textOf,
  userMessage,
} from '@x/core';
import { countRequest } from '@x/core/messages';
import { JsonSession } from '@x/core/node';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, permissions, shell, workspaceTools } from '../../src/index.js';
import { decided, isPaired, scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's' });
const overflow = () => ({ error: new ContextOverflowError(undefined, { modelId: 'scripted' }) });

function agentOn(session: SessionStore, script: readonly ScriptEntry[], contextWindow = 1_000_000) {
  const model = new ScriptedModel(script, { contextWindow });
  const agent = HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .session(session)
    .use(compaction({ model: null }))
    .build();
  return { agent, model };
}

describe('a recovered overflow', () => {
  it('is stored: the next process begins with the reduced conversation, and what was asked is in it once', async () => {
    const session = new JsonSession({ directory: scratch() });
    const talk = Array.from({ length: 30 }, (_, index) => ({ text: `${index}: ${'word '.repeat(300)}` }));
    const first = agentOn(session, [...talk, overflow(), { text: 'recovered' }]);
    for (const [index] of talk.entries()) await first.agent.call(`Tell me of ${index}`, context);
    const before = (await first.agent.state(context))?.context.length ?? 0;
    expect((await first.agent.call('And now?', context)).text).toBe('recovered');
    await first.agent.close();

    const second = agentOn(session, [{ text: 'still here' }]);
    const stored = (await second.agent.state(context))?.context ?? [];
    expect(stored.length).toBeLessThan(before);
    expect(stored.filter((message) => textOf(message) === 'And now?')).toHaveLength(1);
    expect(textOf(stored.at(-1) ?? [])).toBe('recovered');
    await second.agent.call('Are you there?', context);
    expect(second.model.requests[0]?.messages.slice(0, -1)).toEqual(stored);
    await second.agent.close();
  });

  it('may be one of two huge messages', async () => {
    const { agent, model } = agentOn(new InMemorySession(), [
      { text: `All of it: ${'word '.repeat(8_000)}` },
      overflow(),
      { text: 'recovered' },
    ]);
    await agent.call(`Read this: ${'word '.repeat(8_000)}`, context);
    const events: AgentEvent[] = [];
    for await (const event of agent.stream('Shorter, please', context)) events.push(event);
    expect(events.at(-1)).toMatchObject({ type: 'call.completed', stopReason: 'completed' });
    const [refused, accepted] = model.requests
      .slice(-2)
      .map((request) => countRequest(estimateCounter, request));
    expect(accepted).toBeLessThan((refused ?? 0) / 2);
    expect(textOf(model.requests.at(-1)?.messages.at(-1) ?? [])).toBe('Shorter, please');
  });

  it('leaves alone what came in meanwhile', async () => {
    const steered: Promise<boolean>[] = [];
    const { agent, model } = agentOn(new InMemorySession(), [
      { text: `All of it: ${'word '.repeat(8_000)}` },
      () => {
        steered.push(agent.steer(context, 'And in German'));
        return overflow();
      },
      { text: 'recovered' },
      { text: 'auf Deutsch' },
    ]);
    await agent.call(`Read this: ${'word '.repeat(8_000)}`, context);
    expect((await agent.call('Shorter', context)).text).toBe('auf Deutsch');
    expect(await Promise.all(steered)).toEqual([true]);
    const said = model.requests.at(-1)?.messages.map(textOf) ?? [];
    expect(said.slice(-3)).toEqual(['Shorter', 'recovered', 'And in German']);
  });
});

describe('the tools of the workspace', () => {
  it('bound what they answer by themselves: no file, folder or command fills a small window', async () => {
    const directory = scratch();
    writeFileSync(join(directory, 'one-line.txt'), 'x'.repeat(5_000_000));
    writeFileSync(join(directory, 'lines.txt'), 'needle in a line\n'.repeat(200_000));
    for (let index = 0; index < 600; index++) writeFileSync(join(directory, `f${index}-needle.md`), 'a');
    const calls = [
      ['read_file', { path: 'one-line.txt' }],
      ['read_file', { path: 'lines.txt' }],
      ['read_file', { path: 'lines.txt', limit: 200_000 }],
      ['grep_files', { pattern: 'needle|x' }],
      ['list_files', { recursive: true }],
      ['glob_files', { pattern: '**/*' }],
      ['execute', { command: 'cat one-line.txt lines.txt' }],
    ] as const;
    const model = new ScriptedModel(
      [...calls.map(([name, input]) => ({ toolCalls: [{ name, input }] })), { text: 'read' }],
      { contextWindow: 32_000, enforceWindow: { counter: estimateCounter } },
    );
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(directory)
      .use(
        toolResultEviction(),
        compaction({ model: null, counter: estimateCounter }),
        workspaceTools(),
        shell(),
      )
      .build();
    expect((await agent.call('Read everything', context)).text).toBe('read');
    for (const request of model.requests) {
      expect(countRequest(estimateCounter, request)).toBeLessThanOrEqual(32_000);
      expect(isPaired(request.messages)).toBe(true);
    }
  });
});

describe('what a human allows for always', () => {
  it('is the same for the call that asked, for later calls and for other processes', async () => {
    const session = new JsonSession({ directory: scratch() });
    const paid: number[] = [];
    const pay = defineTool({
      name: 'pay',
      description: 'Pays',
      input: z.object({ amount: z.number() }),
      execute: ({ amount }) => {
        paid.push(amount);
        return 'paid';
      },
    });
    const build = (script: readonly ScriptEntry[]) =>
      HarnessAgent.builder()
        .model(new ScriptedModel(script))
        .workspace(scratch())
        .session(session)
        .tools(pay)
        .use(compaction({ model: null, trigger: { messages: 4 }, keep: { messages: 1 } }), permissions())
        .build();
    const paying = (amount: number) => ({
      toolCalls: [{ id: `p${amount}`, name: 'pay', input: { amount } }],
    });
    await build([paying(1)]).call('Pay', context);
    const next = build([paying(2), paying(3), { text: 'ok' }]);
    await next.resume(context, {
      decisions: await decided(next, context, { p1: { type: 'approve', always: 'pay' } }),
    });
    const reply = await build([paying(4), { text: 'ok' }]).call('Once more', context);
    expect(reply.stopReason).toBe('completed');
    expect(paid).toEqual([1, 2, 3, 4]);
  });
});

describe('two writers of one session', () => {
  it('never overwrite each other unnoticed, whoever writes last', async () => {
    // Without leases: all that is left is the version of what was loaded.
    const store = new InMemorySession();
    const bare: SessionStore = {
      reach: store.reach,
      load: (key) => store.load(key),
      commit: (key, change) => store.commit(key, change),
      delete: (key) => store.delete(key),
      list: (scope) => store.list(scope),
      close: () => store.close(),
    };
    const slow = new ScriptedModel([
      async () => {
        await agentOn(bare, [{ text: 'quick' }]).agent.call('from another machine', context);
        return { text: 'slow' };
      },
    ]);
    const agent = HarnessAgent.builder().model(slow).workspace(scratch()).session(bare).build();
    await expect(agent.call('from here', context)).rejects.toThrow(SessionConflictError);
    const key = SessionKey.of({ userId: 'alice', agentId: 'agent', sessionId: 's' });
    expect((await store.load(key))?.messages.map(textOf)).toEqual(['from another machine', 'quick']);

    const merging = HarnessAgent.builder()
      .model(
        new ScriptedModel([
          async () => {
            await agentOn(bare, [{ text: 'quick again' }]).agent.call('there again', context);
            return { text: 'merged' };
          },
        ]),
      )
      .workspace(scratch())
      .session(bare)
      .onConflict('merge')
      .build();
    await merging.call('here again', context);
    const said = (await store.load(key))?.messages.map(textOf) ?? [];
    for (const each of ['there again', 'quick again', 'here again', 'merged']) {
      expect(said.filter((text) => text === each)).toHaveLength(1);
    }
  });
});

describe('what can be seen of a call', () => {
  it('is the same on call and on stream, but for the pieces of the answer', async () => {
    const listen = async (how: 'call' | 'stream') => {
      const events: AgentEvent[] = [];
      const model = new ScriptedModel(
        [
          ...Array.from({ length: 6 }, (_, at) => ({ toolCalls: [{ name: 'look', input: { at } }] })),
          overflow(),
          { text: 'done' },
        ],
        { contextWindow: 1_000_000 },
      );
      const look = defineTool({
        name: 'look',
        description: 'Looks',
        readOnly: true,
        input: z.object({ at: z.number() }),
        execute: ({ at }) => `${at} ${'word '.repeat(400)}`,
      });
      const agent = HarnessAgent.builder()
        .model(model)
        .workspace(scratch())
        .tools(look)
        .use(compaction({ model: null, trigger: { messages: 8 }, keep: { messages: 2 } }))
        .onEvent((event) => events.push(event))
        .build();
      const input = userMessage('Look');
      if (how === 'call') await agent.call(input, context);
      else for await (const _ of agent.stream(input, context));
      await agent.compact(context);
      return events.filter(({ type }) => !type.endsWith('.delta'));
    };
    const [called, streamed] = await Promise.all([listen('call'), listen('stream')]);
    const types = (events: readonly AgentEvent[]) => events.map(({ type }) => type);
    expect(types(streamed)).toEqual(types(called));
    const reasons = called.flatMap((event) =>
      event.type === 'context.compacting' || event.type === 'context.compacted'
        ? [`${event.type} ${event.reason}`]
        : [],
    );
    // Each begins and ends, with its reason, before the next.
    expect(new Set(reasons.map((reason) => reason.split(' ')[1]))).toEqual(
      new Set(['proactive_budget', 'request_too_large', 'manual']),
    );
    for (let index = 0; index < reasons.length; index += 2) {
      expect(reasons[index + 1]).toBe(reasons[index]?.replace('compacting', 'compacted'));
    }
  });
});
