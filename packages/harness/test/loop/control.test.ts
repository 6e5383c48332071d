import {
  defineTool,
  InMemorySession,
  InvalidInputError,
  RuntimeContext,
  SessionKey,
  textOf,
  toolResultsOf,
} from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { permissions } from '../../src/capabilities/permissions/permissions.js';
import { HarnessAgent } from '../../src/index.js';
import { collect, scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's-1' });
const done: string[] = [];
const tool = (name: string, readOnly = true) =>
  defineTool({
    name,
    description: name,
    readOnly,
    input: z.object({}),
    execute: () => {
      done.push(name);
      return name;
    },
  });
it.each([
  ['singal', 'signal'],
  ['permissionModee', 'permissionMode'],
  ['outputs', 'output'],
])('refuses %s among the options of a call', async (key, meant) => {
  const agent = HarnessAgent.builder().model(new ScriptedModel([])).workspace(scratch()).build();
  const message = `${key}: unknown key; did you mean ${meant}?`;
  await expect(agent.call('Hi', context, { [key]: 1 })).rejects.toThrow(message);
  await expect(agent.resume(context, { [key]: 1 })).rejects.toThrow(message);
  await expect(agent.stream('Hi', context, { [key]: 1 }).next()).rejects.toThrow(message);
});

const calling = (name: string) => ({ toolCalls: [{ name, input: {} }] });

function agentOf(model: ScriptedModel) {
  return HarnessAgent.builder().model(model).workspace(scratch()).tools(tool('look'), tool('write'));
}

describe('control of one call', () => {
  it('asks the model as the call says, and as the agent has it in the next call', async () => {
    const own = new ScriptedModel([{ text: 'own' }]);
    const other = new ScriptedModel([{ text: 'other' }]);
    const agent = agentOf(own).settings({ temperature: 0.5, maxOutputTokens: 10 }).build();
    const asked = {
      toolChoice: 'required',
      reasoningEffort: 'high',
      stopSequences: ['END'],
      providerOptions: { acme: { tier: 'fast' } },
      maxOutputTokens: 99,
      temperature: 0,
    } as const;
    const reply = await agent.call('Go', context, { ...asked, model: other, tools: ['look'] });
    expect(reply.text).toBe('other');
    expect(other.requests[0]).toMatchObject(asked);
    expect(other.requests[0]?.tools.map(({ name }) => name)).toEqual(['look']);
    await agent.call('Go', context);
    expect(own.requests[0]).toMatchObject({ temperature: 0.5, maxOutputTokens: 10 });
    expect(own.requests[0]?.tools.map(({ name }) => name)).toEqual(['look', 'write']);
    expect(Object.keys(own.requests[0] ?? {})).not.toContain('toolChoice');
  });

  it('does not run a tool that the call leaves out', async () => {
    done.length = 0;
    const model = new ScriptedModel([calling('write'), { text: 'ok' }]);
    await agentOf(model)
      .build()
      .call('Go', context, { tools: ['look'] });
    expect(done).toEqual([]);
    expect(textOf(model.requests[1]?.messages.at(-1) ?? [])).toContain('There is no tool named "write"');
  });

  it.each([
    ['none', [], 'answer without calling a tool'],
    [{ tool: 'look' }, ['look'], 'call the tool look alone'],
  ] as const)('does not run what the tool choice %j rules out', async (toolChoice, ran, must) => {
    done.length = 0;
    const both = { toolCalls: ['write', 'look'].map((name) => ({ name, input: {} })) };
    const model = new ScriptedModel([both, { text: 'ok' }]);
    const { messages } = await agentOf(model)
      .build()
      .call('Go', context, { prepareStep: ({ step }) => (step === 1 ? { toolChoice } : {}) });
    expect(done).toEqual(ran);
    const [refused] = messages.flatMap(toolResultsOf);
    expect(refused).toMatchObject({ toolName: 'write', isError: true });
    expect(textOf(refused?.output ?? [])).toBe(`Not run: in this step you must ${must}.`);
  });

  it.each(['required', { tool: 'look' }] as const)('tells that a model ignores %j', async (toolChoice) => {
    const events = await collect(
      agentOf(new ScriptedModel([{ text: 'no' }]))
        .build()
        .stream('Go', context, { toolChoice }),
    );
    expect(events.filter(({ type }) => type === 'warning')).toMatchObject([{ source: 'toolChoice' }]);
  });

  it('takes as many steps as the call says, or until stopWhen says so', async () => {
    const looks = () => new ScriptedModel([calling('look'), calling('look'), { text: 'end' }]);
    const limited = await agentOf(looks()).build().call('Go', context, { maxIterations: 1 });
    expect(limited).toMatchObject({ steps: 1, stopReason: 'max_iterations' });
    const stopped = await agentOf(looks())
      .build()
      .call('Go', context, {
        stopWhen: ({ step, message, state }) =>
          step === 2 && toolResultsOf(state.context.at(-1) as never).length === 1 && message !== undefined,
      });
    expect(stopped).toMatchObject({ steps: 2, stopReason: 'stop_condition' });
  });

  it('lets prepareStep choose for each step', async () => {
    const cheap = new ScriptedModel([{ text: 'cheap' }], { id: 'cheap' });
    const model = new ScriptedModel([calling('look')]);
    const reply = await agentOf(model)
      .build()
      .call('Go', context, {
        toolChoice: 'required',
        prepareStep: ({ step }) => (step === 1 ? undefined : { model: cheap, toolChoice: 'none' }),
      });
    expect(reply.text).toBe('cheap');
    expect([model.requests[0]?.toolChoice, cheap.requests[0]?.toolChoice]).toEqual(['required', 'none']);
  });

  it.each([
    [{ toolChoice: 'must' }, 'toolChoice'],
    [{ maxIterations: 0 }, 'maxIterations'],
    [{ model: 'gpt' }, 'model'],
    [{ prepareStep: () => ({ tols: [] }) }, 'tols'],
    [{ tools: ['look', 'loook'] }, 'tools[1]: there is no tool "loook"'],
    [{ toolChoice: { tool: 'loook' } }, 'toolChoice.tool: there is no tool "loook"'],
    [
      { toolChoice: { tool: 'write' }, tools: ['look'] },
      'toolChoice.tool: there is no tool "write" to choose; available: look',
    ],
    [{ prepareStep: () => ({ tools: ['loook'] }) }, 'tools[0]'],
    [{ tools: ['look'], prepareStep: () => ({ toolChoice: { tool: 'write' } }) }, 'toolChoice.tool'],
  ])('refuses %j, naming the field', async (options, path) => {
    const calling = agentOf(new ScriptedModel([]))
      .build()
      .call('Go', context, options as never);
    const error = await calling.catch((cause: unknown) => cause);
    expect(InvalidInputError.isInstance(error) && error.message).toContain(path);
  });
});

describe('the tool that takes the answer', () => {
  const output = z.object({ city: z.string() });
  const answer = { toolCalls: [{ name: 'final_answer', input: { city: 'Bern' } }] };

  it('is forced when the model has ended without it, and not before', async () => {
    const model = new ScriptedModel([{ text: 'Bern' }, answer]);
    const reply = await agentOf(model).build().call('Where?', context, { output });
    expect(reply.output).toEqual({ city: 'Bern' });
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, { tool: 'final_answer' }]);
  });

  it('is forced in the last step, and where there is no other tool', async () => {
    const last = new ScriptedModel([calling('look'), answer]);
    await agentOf(last).build().call('Where?', context, { output, maxIterations: 2 });
    expect(last.requests[1]?.toolChoice).toEqual({ tool: 'final_answer' });
    const only = new ScriptedModel([answer]);
    const agent = HarnessAgent.builder().model(only).workspace(scratch()).build();
    await agent.call('Where?', context, { output });
    expect(only.requests[0]?.toolChoice).toEqual({ tool: 'final_answer' });
  });
});

describe('the permission mode', () => {
  it('can be set for a session by a call, and while a call runs', async () => {
    done.length = 0;
    const model = new ScriptedModel([calling('change'), calling('change'), { text: 'end' }]);
    const agent: HarnessAgent = HarnessAgent.builder()
      .model(model)
      .workspace(scratch())
      .tools(tool('change', false))
      .use(permissions(), {
        name: 'switching',
        observe: (event) => {
          if (event.type === 'tool.result') void agent.setPermissionMode(context, 'explore');
        },
      })
      .build();
    await agent.call('Go', context, { permissionMode: 'bypass' });
    expect(done).toEqual(['change']);
    expect((await agent.state(context))?.permissionContext.mode).toBe('explore');
    await agent.setPermissionMode(context, 'default');
    expect((await agent.state(context))?.permissionContext.mode).toBe('default');
  });

  it('is refused where there is none of that name, and the call that runs keeps its own', async () => {
    const refused: unknown[] = [];
    const agent: HarnessAgent = HarnessAgent.builder()
      .model(
        new ScriptedModel([
          async () => {
            refused.push(await agent.setPermissionMode(context, 'god' as never).catch(({ code }) => code));
            return { text: 'end' };
          },
        ]),
      )
      .workspace(scratch())
      .build();
    expect(await agent.call('Go', context, { permissionMode: 'explore' })).toMatchObject({ text: 'end' });
    expect(refused).toEqual(['invalid_input']);
    expect((await agent.state(context))?.permissionContext.mode).toBe('explore');
  });

  it.each(['call', 'effect', 'step'] as const)(
    'is stored before a call that runs goes on (checkpoint %s)',
    async (checkpoint) => {
      const store = new InMemorySession();
      const stored: unknown[] = [];
      const looking = defineTool({
        name: 'look',
        description: 'Looks',
        readOnly: true,
        input: z.strictObject({}),
        async execute() {
          await agent.setPermissionMode(context, 'explore');
          // A process that died here would leave this.
          const key = SessionKey.of({ userId: 'alice', agentId: 'agent', sessionId: 's-1' });
          stored.push((await store.load(key))?.head.permissionContext);
          return 'Seen.';
        },
      });
      const agent: HarnessAgent = HarnessAgent.builder()
        .model(new ScriptedModel([calling('look'), { text: 'end' }]))
        .workspace(scratch())
        .session(store)
        .settings({ checkpoint })
        .tools(looking)
        .use(permissions())
        .build();
      await agent.call('Go', context, { permissionMode: 'bypass' });
      expect(stored).toMatchObject([{ mode: 'explore' }]);
      expect((await agent.state(context))?.permissionContext.mode).toBe('explore');
    },
  );
});
