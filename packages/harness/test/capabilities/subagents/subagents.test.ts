import { defineTool, InMemorySession, RuntimeContext, type SessionKey, textOf } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, HarnessConfigError, subagents, todoList, workspaceTools } from '../../../src/index.js';
import { isPaired, scratch } from '../../support.js';
import { blocksOf, context, parentWith, resultsOf } from './support.js';

function spawn(input: Record<string, unknown> = {}) {
  return {
    toolCalls: [{ name: 'agent_spawn', input: { agent: 'explorer', task: 'Find the tests', ...input } }],
  };
}

function explorer(model: ScriptedModel, more: object = {}) {
  return { name: 'explorer', description: 'Finds things', systemPrompt: 'You explore.', model, ...more };
}

describe('agent_spawn', () => {
  it('gives a task to a subagent with a window of its own, and returns its answer', async () => {
    const child = new ScriptedModel([
      { toolCalls: [{ name: 'list_files', input: {} }] },
      { text: 'They are in test/.' },
    ]);
    const model = new ScriptedModel([spawn(), { text: 'Found.' }]);
    const agent = parentWith(model, workspaceTools(), subagents([explorer(child)])).build();
    const reply = await agent.call('Where are the tests? SECRET-OF-THE-PARENT', context);
    expect(reply.text).toBe('Found.');
    const [result] = resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn');
    expect(result).toMatch(/^\[explorer-\w{8}: completed\]\nThey are in test\/\.$/);
    expect(child.requests[0]?.system).toContain('You explore.');
    expect(JSON.stringify(child.requests)).not.toContain('SECRET-OF-THE-PARENT');
    expect(child.requests[0]?.messages.map((message) => textOf(message))).toEqual(['Find the tests']);
    const names = child.requests[0]?.tools.map((tool) => tool.name) ?? [];
    expect(names).toContain('read_file');
    await agent.close();
  });

  it('tells why a subagent failed, without credentials', async () => {
    const child = new ScriptedModel([() => Promise.reject(new Error('connect postgres://app:hunter2@db'))]);
    const model = new ScriptedModel([spawn(), { text: 'ok' }]);
    const agent = parentWith(model, subagents([explorer(child)])).build();
    await agent.call('go', context);
    const [result] = resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn');
    expect(result).toContain('failed]\nconnect postgres://app:[redacted:credentials]@db');
    await agent.close();
  });

  it('lists its subagents in the system prompt, and says which there are when asked for another', async () => {
    const model = new ScriptedModel([spawn({ agent: 'nobody' }), { text: 'ok' }]);
    const agent = parentWith(model, subagents([explorer(new ScriptedModel([]))])).build();
    await agent.call('go', context);
    expect(model.requests[0]?.system).toContain('- explorer: Finds things');
    expect(model.requests[0]?.system).toContain('- general-purpose: ');
    expect(model.requests[1]?.system).toBe(model.requests[0]?.system);
    const [block] = blocksOf(model.requests[1]?.messages ?? [], 'agent_spawn');
    expect(block?.isError).toBe(true);
    expect(textOf(block ? [block] : [])).toBe(
      'There is no subagent "nobody". Available: explorer, general-purpose.',
    );
    await agent.close();
  });

  it('runs calls of one step side by side', async () => {
    let running = 0;
    let most = 0;
    const both = withResolvers();
    const child = new ScriptedModel([
      {
        when: /./,
        times: 2,
        reply: async () => {
          most = Math.max(most, ++running);
          if (running === 2) both.resolve(undefined);
          await both.promise;
          running--;
          return { text: 'done' };
        },
      },
    ]);
    const call = spawn().toolCalls[0] ?? { name: '', input: {} };
    const model = new ScriptedModel([{ toolCalls: [call, call] }, { text: 'ok' }]);
    const agent = parentWith(model, subagents([explorer(child)])).build();
    await agent.call('go', context);
    expect(most).toBe(2);
    expect(resultsOf(model.requests[1]?.messages ?? [], 'agent_spawn')).toHaveLength(2);
    await agent.close();
  });

  it('tells of a failure as an error that can be acted on', async () => {
    const child = new ScriptedModel([{ error: new Error('the provider is down') }]);
    const model = new ScriptedModel([spawn(), { text: 'ok' }]);
    const agent = parentWith(model, subagents([explorer(child)])).build();
    await agent.call('go', context);
    const [block] = blocksOf(model.requests[1]?.messages ?? [], 'agent_spawn');
    expect(block?.isError).toBe(true);
    expect(textOf(block ? [block] : [])).toContain('the provider is down');
    await agent.close();
  });

  it('says what a subagent had when it ran out of steps, and agent_spawn with its id lets it go on', async () => {
    const step = { text: 'So far: a.ts.', toolCalls: [{ name: 'list_files', input: {} }] };
    const child = new ScriptedModel([step, step, { text: 'All: a.ts, b.ts.' }]);
    const model = new ScriptedModel([
      spawn(),
      ({ messages }) => {
        const [result = ''] = resultsOf(messages, 'agent_spawn');
        const agentId = /\[(explorer-\w+):/.exec(result)?.[1] ?? '';
        return { toolCalls: [{ name: 'agent_spawn', input: { agent: agentId, task: 'Go on' } }] };
      },
      { text: 'ok' },
    ]);
    const agent = parentWith(
      model,
      workspaceTools(),
      subagents([explorer(child, { maxIterations: 2 })]),
    ).build();
    await agent.call('go', context);
    const [spawned] = blocksOf(model.requests[1]?.messages ?? [], 'agent_spawn');
    expect(spawned?.isError).toBe(true);
    expect(textOf(spawned ? [spawned] : [])).toContain('stopped after 2 steps');
    expect(textOf(spawned ? [spawned] : [])).toContain('So far: a.ts.');
    expect(resultsOf(model.requests[2]?.messages ?? [], 'agent_spawn').at(-1)).toContain('All: a.ts, b.ts.');
    // It remembers what it did.
    expect(child.requests[2]?.messages.map((message) => message.role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'user',
    ]);
    await agent.close();
  });

  it('refuses more tasks at a time than allowed, also of one step', async () => {
    const child = new ScriptedModel([{ when: /./, times: 2, reply: () => new Promise(() => {}) }]);
    const call = { name: 'agent_spawn', input: { agent: 'explorer', task: 'x', background: true } };
    const model = new ScriptedModel([{ toolCalls: [call, call, call] }, { text: 'ok' }]);
    const agent = parentWith(model, subagents([explorer(child)], { maxRunning: 2 })).build();
    await agent.call('go', context);
    const blocks = blocksOf(model.requests[1]?.messages ?? [], 'agent_spawn');
    expect(blocks.filter((block) => block.isError)).toHaveLength(1);
    await agent.close();
  });
});

describe('what a subagent is made of', () => {
  it('gets only the tools that it names, and never those of plan mode or memory', async () => {
    const child = new ScriptedModel([{ text: 'ok' }]);
    const model = new ScriptedModel([spawn(), { text: 'ok' }]);
    const agent = parentWith(
      model,
      workspaceTools(),
      todoList(),
      subagents([explorer(child, { tools: ['read_*', 'grep_files'] })]),
    ).build();
    await agent.call('go', context);
    expect(child.requests[0]?.tools.map((tool) => tool.name)).toEqual(['read_file', 'grep_files']);
    await agent.close();
  });

  it('has subagents of its own down to the limit, and no further', async () => {
    const model = new ScriptedModel([
      spawn({ agent: 'general-purpose', task: 'one' }),
      spawn({ agent: 'general-purpose', task: 'two' }),
      { text: 'deepest' },
      { text: 'deep' },
      { text: 'top' },
    ]);
    const agent = parentWith(model, subagents()).build();
    const reply = await agent.call('go', context);
    expect(reply.text).toBe('top');
    const offered = model.requests.map((request) =>
      request.tools.some((tool) => tool.name === 'agent_spawn'),
    );
    expect(offered).toEqual([true, true, false, true, true]);
    for (const request of model.requests) expect(isPaired(request.messages)).toBe(true);
    await agent.close();
  });

  it('keeps its session apart: of the same user, below the parent', async () => {
    const store = new InMemorySession();
    const child = new ScriptedModel([{ text: 'ok' }]);
    const agent = parentWith(new ScriptedModel([spawn(), { text: 'ok' }]), subagents([explorer(child)]))
      .session(store)
      .build();
    await agent.call('go', context);
    const keys: SessionKey[] = [];
    for await (const { key } of store.list({ userId: 'alice' })) keys.push(key);
    expect(keys.map((key) => key.parts.agentId).sort()).toEqual(['lead', 'lead/explorer']);
    const own = keys.find((key) => key.parts.agentId === 'lead/explorer');
    expect(own?.parts.sessionId).toMatch(/^s-1\/explorer-\w{8}$/);
    await agent.close();
  });

  it('sees what the call of its parent brought along', async () => {
    const seen: unknown[] = [];
    const look = defineTool({
      name: 'look',
      description: 'Looks',
      readOnly: true,
      input: z.strictObject({}),
      execute: (_, { runtime }) => {
        seen.push(runtime.get('request_id'));
      },
    });
    const child = new ScriptedModel([{ toolCalls: [{ name: 'look', input: {} }] }, { text: 'ok' }]);
    const agent = parentWith(new ScriptedModel([spawn(), { text: 'ok' }]), subagents([explorer(child)]))
      .tools(look)
      .build();
    await agent.call('go', RuntimeContext.builder(context).put('request_id', 'r-1').build());
    expect(seen).toEqual(['r-1']);
    await agent.close();
  });

  it('is refused when the agent is built if its model is unknown', () => {
    const parts = parentWith(
      new ScriptedModel([]),
      subagents([{ name: 'a', description: 'b', model: 'nope' }], {
        models: { cheap: new ScriptedModel([]) },
      }),
    );
    expect(() => parts.build()).toThrow(HarnessConfigError);
    expect(() => parts.build()).toThrow('no model named "nope" (known: cheap)');
  });

  it('is refused in two agents at once', () => {
    const shared = subagents();
    parentWith(new ScriptedModel([]), shared).build();
    expect(() => parentWith(new ScriptedModel([]), shared).build()).toThrow(
      'is already part of another agent',
    );
  });

  it('closes with its parent what is its own, and what is shared only once', async () => {
    const closed: string[] = [];
    const note = (name: string) => ({ name, close: async () => void closed.push(name) });
    const child = new ScriptedModel([{ text: 'ok' }]);
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([spawn(), { text: 'ok' }]))
      .workspace(scratch())
      .use(note('shared'), subagents([explorer(child, { capabilities: [note('own')] })]))
      .build();
    await agent.call('go', context);
    await agent.close();
    expect(closed.sort()).toEqual(['own', 'shared']);
  });
});

function withResolvers() {
  let resolve: (value: unknown) => void = () => {};
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
