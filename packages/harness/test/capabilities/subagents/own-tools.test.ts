import { defineTool } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { subagents } from '../../../src/index.js';
import { context, parentWith, resultsOf } from './support.js';

const say = (name: string, answer: string) =>
  defineTool({ name, description: name, readOnly: true, input: z.object({}), execute: () => answer });
const spawn = { toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work' } }] };

describe('tools of a subagent’s own', () => {
  it.each([1, 2, 3])(
    'are there at every depth, in place of those of the same name (maxDepth %i)',
    async (maxDepth) => {
      const called = {
        toolCalls: [
          { name: 'look', input: {} },
          { name: 'whistle', input: {} },
        ],
      };
      const levels = Array.from({ length: maxDepth - 1 }, () => spawn);
      const child = new ScriptedModel([
        ...levels,
        called,
        ...levels.map(() => ({ text: 'ok' })),
        { text: 'ok' },
      ]);
      const definition = {
        name: 'worker',
        description: 'Works',
        model: child,
        capabilities: [
          { name: 'looking', tools: [say('look', 'as the worker sees it')] },
          { name: 'whistling', tools: [say('whistle', 'whistled')] },
        ],
      };
      const agent = parentWith(
        new ScriptedModel([spawn, { text: 'ok' }]),
        subagents([definition], { maxDepth }),
      )
        .tools(say('look', 'as the lead sees it'))
        .build();
      await agent.call('go', context);
      child.assertComplete();
      const last = child.requests[maxDepth]?.messages ?? [];
      expect(resultsOf(last, 'look')).toEqual(['as the worker sees it']);
      expect(resultsOf(last, 'whistle')).toEqual(['whistled']);
      await agent.close();
    },
  );
});

describe('tools of a parent whose list changes', () => {
  it('are those of the moment for its subagents, too', async () => {
    let tools = [say('look', 'seen')];
    const server = {
      name: 'server',
      get tools() {
        return tools;
      },
    };
    const child = new ScriptedModel([{ text: 'ok' }, { text: 'ok' }]);
    const agent = parentWith(
      new ScriptedModel([spawn, { text: 'ok' }, spawn, { text: 'ok' }]),
      server,
      subagents([{ name: 'worker', description: 'Works', model: child, tools: ['look*'] }]),
    ).build();
    await agent.call('go', context);
    tools = [say('look_twice', 'seen'), say('listen', 'heard')];
    await agent.call('again', context);
    expect(child.requests.map((request) => request.tools.map(({ name }) => name))).toEqual([
      ['look'],
      ['look_twice'],
    ]);
    await agent.close();
  });
});

describe('tools that a definition asks for', () => {
  it('and that its parent cannot hand down are warned of, with what is near', async () => {
    const warnings: string[] = [];
    const definition = {
      name: 'worker',
      description: 'Works',
      tools: ['look', 'loook', 'Grep', 'mcp__*', 'agent_spawn'],
      model: new ScriptedModel([spawn, { text: 'ok' }, { text: 'ok' }]),
    };
    const agent = parentWith(
      new ScriptedModel([spawn, { text: 'ok' }]),
      subagents([definition], { maxDepth: 3 }),
    )
      .tools(say('look', 'seen'), say('looks', 'seen'))
      .onEvent((event) => event.type === 'warning' && warnings.push(`${event.source}: ${event.message}`))
      .build();
    await agent.call('go', context);
    expect(warnings).toEqual([
      'subagents: worker.tools: no tool is named "loook"; did you mean look?',
      'subagents: worker.tools: no tool is named "Grep"; none is similar.',
    ]);
    await agent.close();
  });
});
