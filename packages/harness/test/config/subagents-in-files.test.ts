import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Capability, defineTool, InMemorySession, type Tool } from '@x/core';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { agentFromConfig, CapabilityRegistry, harnessCapabilities } from '../../src/index.js';
import { resultsOf } from '../capabilities/subagents/support.js';
import { scratch } from '../support.js';

const spawn = { toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work' } }] };
const strike = { toolCalls: [{ name: 'strike', input: {} }] };

/** An agent of a file, whose models answer by their scripts, and what its tools did. */
async function agentOf(
  file: object,
  scripts: Readonly<Record<string, readonly ScriptEntry[]>>,
  workers: Readonly<Record<string, string>> = {},
) {
  const done: string[] = [];
  const tool = (name: string): Tool =>
    defineTool({ name, description: name, input: z.strictObject({}), execute: () => void done.push(name) });
  const models = new Map(
    Object.entries(scripts).map(([id, script]) => [id, new ScriptedModel(script, { id })] as const),
  );
  const model = ({ id }: { readonly id: string }) => {
    const found = models.get(id);
    if (found === undefined) throw new Error(`there is no model ${id}`);
    return found;
  };
  const registry = new CapabilityRegistry();
  const own = harnessCapabilities({ subagents: { model } });
  for (const [name, { create }] of Object.entries(own)) registry.register(name, create);
  const directory = scratch();
  mkdirSync(join(directory, 'workspace/subagents'), { recursive: true });
  for (const [name, text] of Object.entries(workers))
    writeFileSync(join(directory, 'workspace/subagents', name), text);
  const builder = await agentFromConfig(
    { name: 'lead', model: 'lead', max_retries: 0, session: 'memory', ...file },
    { model, registry, session: () => new InMemorySession() },
    { directory },
  );
  const agent = builder.tools(tool('strike'), tool('look')).build();
  const requestsOf = (id: string) => models.get(id)?.requests ?? [];
  return { agent, done, requestsOf };
}

const worker = (line: string) => `---\ndescription: Works\n${line}\n---\nWork.`;

describe('subagents of an agent’s file', () => {
  it('have the models that it lists, and otherwise that of their agent', async () => {
    const workers = { 'worker.md': worker('model: small'), 'other.md': worker('model: unlisted') };
    const tasks = ['worker', 'other'].map((agent) => ({
      name: 'agent_spawn',
      input: { agent, task: 'Work' },
    }));
    const { agent, requestsOf } = await agentOf(
      { subagents: { models: ['small'] } },
      { lead: [{ toolCalls: tasks }, { text: 'other' }, { text: 'ok' }], small: [{ text: 'small' }] },
      workers,
    );
    await agent.call('go');
    expect(['lead', 'small'].map((id) => requestsOf(id).length)).toEqual([3, 1]);
    await agent.close();
  });

  it.each([
    [{ models: ['lost'] }, 'subagents.models[0]: there is no model lost'],
    [{ models: [{ id: 'lead', context_windw: 5 }] }, 'subagents.models[0]'],
    [{ definitions: [] }, 'subagents.definitions: unknown key'],
    [{ max_depth: 0 }, 'subagents.max_depth: '],
  ])('are refused with the place of what is wrong: %j', async (subagents, message) => {
    await expect(agentOf({ subagents }, { lead: [] })).rejects.toThrow(message);
  });
});

describe('tools and deny of an agent’s file', () => {
  it('leave it and its subagents the tools that are named', async () => {
    const { agent, requestsOf, done } = await agentOf(
      {
        capabilities: ['todo_list'],
        tools: 'agent_*, strike',
        subagents: { models: ['worker'] },
      },
      {
        lead: [spawn, { text: 'ok' }],
        worker: [strike, { toolCalls: [{ name: 'look', input: {} }] }, { text: 'ok' }],
      },
      { 'worker.md': worker('model: worker\ntools: [look, strike]') },
    );
    await agent.call('go');
    const names = (id: string) => requestsOf(id)[0]?.tools.map(({ name }) => name);
    expect(names('lead')).toEqual(['strike', 'agent_spawn']);
    expect(names('worker')).toEqual(['strike']);
    expect(resultsOf(requestsOf('worker')[2]?.messages ?? [], 'look')[0]).toMatch(/no tool/i);
    expect(done).toEqual(['strike']);
    await agent.close();
  });

  it('deny calls whatever permissions allow, those of its subagents too', async () => {
    const { agent, done } = await agentOf(
      {
        permissions: { mode: 'bypass', allow: ['strike'] },
        deny: ['strike'],
        subagents: { models: ['worker'] },
      },
      { lead: [strike, spawn, { text: 'ok' }], worker: [strike, { text: 'ok' }] },
      { 'worker.md': worker('model: worker') },
    );
    await agent.call('go');
    expect(done).toEqual([]);
    await agent.close();
  });

  it('leave out what a capability brings later', async () => {
    let tools: readonly Tool[] = [];
    const later: Capability = {
      name: 'later',
      get tools() {
        return tools;
      },
    };
    const grown = (name: string) =>
      defineTool({ name, description: name, input: z.strictObject({}), execute: () => '' });
    const registry = new CapabilityRegistry().register('later', () => later);
    const model = new ScriptedModel([{ text: 'a' }, { text: 'b' }]);
    const builder = await agentFromConfig(
      { model: 'lead', capabilities: ['later'], tools: ['fine_*'] },
      { model: () => model, registry },
      { directory: scratch() },
    );
    const agent = builder.build();
    await agent.call('a');
    tools = [grown('fine_one'), grown('other')];
    await agent.call('b');
    expect(model.requests.map((request) => request.tools.map(({ name }) => name))).toEqual([
      [],
      ['fine_one'],
    ]);
    await agent.close();
  });

  it.each([
    [{ tools: ['stricke'] }, 'tools[0]: no tool is named "stricke"; did you mean strike?'],
    [{ deny: ['look', 'stricke(x)'] }, 'deny[1]: no tool is named "stricke"; did you mean strike?'],
    [{ deny: ['((('] }, 'deny[0]: "(((" is not a permission rule'],
  ])('are refused with the place of a slip: %j', async (file, message) => {
    await expect(agentOf(file, { lead: [] })).rejects.toThrow(message);
  });
});
