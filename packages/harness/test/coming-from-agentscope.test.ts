import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compaction, toolResultEviction } from '@x/compaction';
import {
  AgentState,
  type Capability,
  defineTool,
  InMemorySession,
  RuntimeContext,
  textOf,
  userMessage,
} from '@x/core';
import { memory } from '@x/memory';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, shutdownOnSignals } from '../src/index.js';
import { scratch } from './support.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's' });

function builder(model: ScriptedModel) {
  return HarnessAgent.builder()
    .name('coder')
    .model(model)
    .workspace(scratch())
    .session(new InMemorySession());
}

describe('the page for those who come from AgentScope says that', () => {
  it('a runtime context cannot be changed, and a hook hands a tool a value by the session’s state', async () => {
    const runtime = RuntimeContext.builder().userId('alice').sessionId('s').put('color', 'red').build();
    expect(runtime.get('color')).toBe('red');
    Object.assign(runtime.extra, { color: 'blue' });
    expect(runtime.get('color')).toBe('red');
    const seen: unknown[] = [];
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      readOnly: true,
      input: z.object({}),
      execute: (_, { state }) => {
        seen.push(state.tasksContext);
        return 'seen';
      },
    });
    const hook: Capability = {
      name: 'hook',
      async aroundCall({ state }, next) {
        state.tasksContext = { todos: [{ content: 'by the hook', status: 'pending' }] };
        await next();
      },
    };
    const agent = builder(new ScriptedModel([{ toolCalls: [{ name: 'look', input: {} }] }, { text: 'ok' }]))
      .tools(look)
      .use(hook)
      .build();
    await agent.call('go', runtime);
    expect(seen).toEqual([{ todos: [{ content: 'by the hook', status: 'pending' }] }]);
    await agent.close();
  });

  it('nothing is compacted without the capability, whatever its size', async () => {
    const agent = builder(
      new ScriptedModel(Array.from({ length: 30 }, () => ({ text: 'word '.repeat(2_000) }))),
    ).build();
    for (let turn = 0; turn < 30; turn++) await agent.call(`turn ${turn}`, context);
    expect((await agent.state(context))?.context).toHaveLength(60);
    await agent.close();
  });

  it('keys of AgentScope’s compaction, eviction and memory are taken', () => {
    expect(() => compaction({ preset: 'agentscope', triggerMessages: 30, keepMessages: 10 })).not.toThrow();
    expect(() => toolResultEviction()).not.toThrow();
    expect(() =>
      memory({
        flush: 'never',
        consolidationGapMs: 1_800_000,
        maxMemoryTokens: 4_000,
        pruneSessionsAfterDays: 180,
      }),
    ).not.toThrow();
  });

  it('a message of kind summary sets the summary, and a state is JSON both ways', async () => {
    const agent = builder(new ScriptedModel([{ text: 'ok' }])).build();
    const state = await agent.updateState(context, (changed) => {
      changed.contextMutable().push(userMessage('All went well.', { kind: 'summary' }));
    });
    expect(state.summary).toBe('All went well.');
    const again = AgentState.fromJSON(JSON.parse(JSON.stringify(state)));
    expect(again.summary).toBe('All went well.');
    expect(again.context).toEqual(state.context);
    await agent.close();
  });

  it('a context is cleared by taking its messages out, and the log keeps them', async () => {
    const model = new ScriptedModel([{ text: 'one' }, { text: 'two' }]);
    const agent = builder(model).build();
    await agent.call('first', context);
    await agent.updateState(context, (state) => void state.contextMutable().splice(0));
    await agent.call('second', context);
    expect(model.requests[1]?.messages.map((message) => textOf(message))).toEqual(['second']);
    const logged: string[] = [];
    for await (const message of agent.log(context).read()) logged.push(textOf(message));
    expect(logged).toEqual(['first', 'one', 'second', 'two']);
    await agent.close();
  });

  it('what is pushed into a context reaches the log with the next step, with or without a compaction waiting for it', async () => {
    for (const offloadBeforeCompact of [true, false]) {
      const agent = builder(new ScriptedModel([{ text: 'one' }]))
        .use(compaction({ offloadBeforeCompact }))
        .build();
      await agent.updateState(context, (state) => {
        state.contextMutable().push(userMessage('pushed'));
      });
      await agent.call('first', context);
      const logged: string[] = [];
      for await (const message of agent.log(context).read()) logged.push(textOf(message));
      expect(logged).toEqual(['pushed', 'first', 'one']);
      await agent.close();
    }
  });

  it('memory files are copied below the user and the agent in the storage', async () => {
    const workspace = scratch();
    const folder = join(workspace, '.x/users/alice/agents/coder');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'MEMORY.md'), '- The harbor master is Ilse.\n');
    const model = new ScriptedModel([{ text: 'ok' }]);
    const agent = builder(model)
      .workspace(workspace)
      .use(memory({ flush: 'never' }))
      .build();
    await agent.call('Who?', context);
    expect(model.requests[0]?.system).toContain('The harbor master is Ilse.');
    await agent.close();
  });

  it('an agent ends with its process by shutdownOnSignals', async () => {
    const agent = builder(new ScriptedModel([{ text: 'ok' }])).build();
    const before = process.listenerCount('SIGTERM');
    const release = shutdownOnSignals(agent);
    expect(process.listenerCount('SIGTERM')).toBe(before + 1);
    release();
    expect(process.listenerCount('SIGTERM')).toBe(before);
    await agent.close();
  });
});
