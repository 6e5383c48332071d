import { type Capability, defineTool, InMemorySession, type Tool } from '@x/core';
import { PERMISSION_MODES } from '@x/core/internal';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { agentFromConfig, CapabilityRegistry, harnessCapabilities } from '../../src/index.js';
import { resultsOf } from '../capabilities/subagents/support.js';
import { scratch } from '../support.js';

const spawn = { toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work' } }] };
const strike = { toolCalls: [{ name: 'strike', input: {} }] };

/** Says in the system prompt what it was told. */
const sign = (words: unknown): Capability => {
  const { says } = z.object({ says: z.string() }).parse(words);
  return { name: 'sign', system: () => says };
};

/** An agent of a file, whose models answer by their scripts, and what its tools did. */
async function agentOf(file: object, scripts: Readonly<Record<string, readonly ScriptEntry[]>>) {
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
  const registry = new CapabilityRegistry().register('sign', sign);
  const own = harnessCapabilities({ subagents: { model, registry } });
  for (const [name, { create }] of Object.entries(own)) registry.register(name, create);
  const commits: string[] = [];
  class Counted extends InMemorySession {
    override commit(...given: Parameters<InMemorySession['commit']>) {
      commits.push(given[0].parts.agentId ?? '');
      return super.commit(...given);
    }
  }
  const builder = await agentFromConfig(
    { name: 'lead', model: 'lead', max_retries: 0, session: 'memory', ...file },
    { model, registry, session: () => new Counted() },
    { directory: scratch() },
  );
  const agent = builder.tools(tool('strike'), tool('look')).build();
  const requestsOf = (id: string) => models.get(id)?.requests ?? [];
  return { agent, done, commits, requestsOf };
}

const worker = (more: object) => ({
  definitions: [{ name: 'worker', description: 'Works', model: 'worker', ...more }],
});

describe('a subagent in an agent’s file', () => {
  it('has permissions that only take away from those of its agent', async () => {
    for (const above of PERMISSION_MODES) {
      for (const own of PERMISSION_MODES) {
        const { agent, done } = await agentOf(
          {
            permissions: { mode: above, allow: ['agent_spawn'] },
            subagents: worker({ permissions: { mode: own } }),
          },
          { lead: [spawn, { text: 'ok' }], worker: [strike, { text: 'ok' }] },
        );
        const { stopReason } = await agent.call('go');
        const modes = [above, own];
        const isDenied = modes.some((mode) => mode === 'explore' || mode === 'dont_ask');
        const isAsked = modes.some((mode) => mode !== 'bypass') && !isDenied;
        expect([modes, done]).toEqual([modes, isDenied || isAsked ? [] : ['strike']]);
        expect([modes, stopReason]).toEqual([modes, isAsked ? 'permission_required' : 'completed']);
        await agent.close();
      }
    }
  });

  it('may be denied by rules of its own what its agent may do', async () => {
    for (const rules of [{ permissions: { mode: 'bypass', deny: ['strike'] } }, { deny: ['strike'] }]) {
      const { agent, done } = await agentOf(
        { subagents: worker(rules) },
        { lead: [spawn, strike, { text: 'ok' }], worker: [strike, { text: 'could not' }] },
      );
      await agent.call('go');
      expect(done).toEqual(['strike']);
      await agent.close();
    }
  });

  it.each([
    [{}, 'as the lead'],
    [{ features: { sign: { says: 'as the worker' } } }, 'as the worker'],
    [{ capabilities: [{ ref: 'sign', config: { says: 'as the worker' } }] }, 'as the worker'],
    [{ features: { sign: false } }, ''],
    [{ without: ['sign'] }, ''],
  ])('has capabilities of its own in place of its agent’s: %j', async (more, system) => {
    const { agent, requestsOf } = await agentOf(
      { features: { sign: { says: 'as the lead' } }, subagents: worker({ system_prompt: 'Work.', ...more }) },
      { lead: [spawn, { text: 'ok' }], worker: [{ text: 'ok' }] },
    );
    await agent.call('go');
    expect(requestsOf('lead')[0]?.system).toContain('as the lead');
    const [whole = ''] = (requestsOf('worker')[0]?.system ?? '').split('\n\n# Subagents');
    expect(whole).toBe(['Work.', system].filter(Boolean).join('\n\n'));
    await agent.close();
  });

  const fails = { error: Object.assign(new Error('down'), { statusCode: 401 }) };

  it.each([
    [{ fallback: ['own'] }, 'own'],
    [{}, 'shared'],
  ])('has models that take over of its own, else those of its agent: %j', async (more, taker) => {
    const { agent, requestsOf } = await agentOf(
      { fallback: ['shared'], subagents: worker(more) },
      { lead: [spawn, { text: 'ok' }], worker: [fails], own: [{ text: 'mine' }], shared: [{ text: 'mine' }] },
    );
    const { text } = await agent.call('go');
    expect(text).toBe('ok');
    expect(['own', 'shared'].filter((id) => requestsOf(id).length > 0)).toEqual([taker]);
    await agent.close();
  });

  it('has settings of its own', async () => {
    const commitsWith = async (more: object) => {
      const { agent, commits, requestsOf } = await agentOf(
        { subagents: worker({ temperature: 0.5, ...more }) },
        { lead: [spawn, { text: 'ok' }], worker: [strike, strike, { text: 'ok' }] },
      );
      await agent.call('go');
      await agent.close();
      return {
        temperature: requestsOf('worker')[0]?.temperature,
        commits: commits.filter((id) => id !== 'lead'),
      };
    };
    const [rare, often] = [
      await commitsWith({ checkpoint: 'call' }),
      await commitsWith({ checkpoint: 'step' }),
    ];
    expect(rare.temperature).toBe(0.5);
    expect(rare.commits.length).toBeLessThan(often.commits.length);
    const short = await commitsWith({ max_iterations: 1 });
    expect(short.commits.length).toBeLessThan((await commitsWith({})).commits.length);
  });

  it.each([
    [{ hooks: { after_call: 'x' } }, 'hooks: unknown key here; those of its parent run for a subagent too'],
    [{ features: { hooks: {} } }, 'features.hooks: those of its parent run for a subagent too'],
    [{ mcp_servers: {} }, 'mcp_servers: unknown key here; a subagent has those of its parent, with their'],
    [
      { capabilities: ['mcp'] },
      'capabilities[0]: a subagent has those of its parent, with their connections',
    ],
    [{ subagents: {} }, 'subagents: unknown key here; a subagent has those of its parent'],
    [{ session: 'redis://x' }, 'session: unknown key here; a subagent has those of its parent'],
    [{ isolation: 'user' }, 'isolation: unknown key here; a subagent has those of its parent'],
    [{ feature: {} }, 'feature: unknown key; did you mean features?'],
    [{ features: { sing: true } }, 'features.sing: there is no capability named "sing"'],
    [{ features: { sign: { says: 1 } } }, 'features.sign'],
    [{ features: { budget: { max_tokns: 1 } } }, 'features.budget.max_tokns: unknown key'],
    [{ fallback: ['worker', 'lost'] }, 'fallback[1]: there is no model lost'],
    [{ model: 'lost' }, 'model: there is no model lost'],
    [{ permissions: { deny: ['((('] } }, 'permissions.deny[0]: "(((" is not a permission rule'],
    [{ max_iterations: 0 }, 'max_iterations: '],
    [{ description: '' }, 'description: '],
  ])('is refused with the place of what is wrong: %j', async (more, message) => {
    const made = agentOf({ subagents: worker(more) }, { lead: [], worker: [] });
    await expect(made).rejects.toThrow(`subagents.definitions[0].${message}`);
  });
});

describe('tools and deny of an agent’s file', () => {
  it('leave it and its subagents the tools that are named', async () => {
    const { agent, requestsOf, done } = await agentOf(
      {
        capabilities: ['todo_list'],
        tools: 'agent_*, strike',
        subagents: worker({ tools: ['look', 'strike'] }),
      },
      {
        lead: [spawn, { text: 'ok' }],
        worker: [strike, { toolCalls: [{ name: 'look', input: {} }] }, { text: 'ok' }],
      },
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
        subagents: worker({ permissions: { mode: 'bypass' } }),
      },
      { lead: [strike, spawn, { text: 'ok' }], worker: [strike, { text: 'ok' }] },
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
    [{ without: ['sign'] }, 'without: unknown key here; leave the capability out'],
  ])('are refused with the place of a slip: %j', async (file, message) => {
    await expect(agentOf(file, { lead: [] })).rejects.toThrow(message);
  });
});
