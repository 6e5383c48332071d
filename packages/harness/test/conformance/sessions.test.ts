import {
  defineTool,
  InMemorySession,
  type Message,
  RuntimeContext,
  type SessionKey,
  storageOf,
  textOf,
  toolResultsOf,
  userMessage,
} from '@x/core';
import type { RuntimeIdentity } from '@x/core/internal';
import { JsonSession, LocalWorkspace, WorkspaceSession } from '@x/core/node';
import type { SessionChange } from '@x/core/store';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, permissions, planMode, todoList, toolGroups } from '../../src/index.js';
import { isPaired, scratch } from '../support.js';

const contextOf = (sessionId: string) => RuntimeContext.of({ userId: 'alice', sessionId });

/** Echoes what was said, so that every session's answers are its own. */
const echoing = { when: () => true, times: Number.POSITIVE_INFINITY, reply: echo } satisfies ScriptEntry;
function echo({ messages }: { readonly messages: readonly Parameters<typeof textOf>[0][] }) {
  return { text: `You said ${textOf(messages.at(-1) ?? [])}` };
}

it('logs the messages that a program puts into a conversation between two calls', async () => {
  const agent = HarnessAgent.builder()
    .model(new ScriptedModel([echoing]))
    .workspace(scratch())
    .build();
  const context = contextOf('s');
  await agent.call('Hi', context);
  const note = userMessage('The shop is closed today.');
  await agent.updateState(context, (state) => void state.contextMutable().push(note));
  const logged: Message[] = [];
  for await (const message of agent.log(context).read()) logged.push(message);
  expect(logged).toEqual((await agent.state(context))?.context);
  expect(logged.at(-1)).toEqual(note);
});

describe('sessions of one agent', () => {
  it('share nothing, whatever their ids, when all of them talk at once', async () => {
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([echoing]))
      .workspace(scratch())
      .build();
    const ids: readonly RuntimeIdentity[] = [
      { sessionId: 'c', userId: 'a/b' },
      { sessionId: 'b/c', userId: 'a' },
      { sessionId: 'a/b/c' },
      { sessionId: '..', userId: 'alice' },
      { sessionId: 'alice', userId: '..' },
      { sessionId: 'C', userId: 'a/b' },
      { sessionId: 'c', userId: 'a/b', tenantId: 'a' },
      { sessionId: 'a:b', userId: '%' },
      { sessionId: 'b', userId: '%:a' },
    ];
    await Promise.all(
      ids.flatMap((id, index) =>
        [0, 1, 2].map((turn) => agent.call(`${index} ${turn}`, RuntimeContext.of(id))),
      ),
    );
    for (const [index, id] of ids.entries()) {
      const said = (await agent.state(RuntimeContext.of(id)))?.context.map(textOf) ?? [];
      const own = [0, 1, 2].flatMap((turn) => [`${index} ${turn}`, `You said ${index} ${turn}`]);
      expect([...said].sort()).toEqual([...own].sort());
      const logged: string[] = [];
      for await (const message of agent.log(RuntimeContext.of(id)).read()) logged.push(textOf(message));
      expect(logged).toEqual(said);
    }
  });

  it('keep their rules, plans, todos and groups to themselves, and have them in the next process', async () => {
    const session = new JsonSession({ directory: scratch() });
    const build = () =>
      HarnessAgent.builder()
        .model(new ScriptedModel([echoing]))
        .workspace(scratch())
        .session(session)
        .use(todoList(), planMode(), permissions(), toolGroups({ g: { description: 'G', tools: ['t'] } }))
        .build();
    const states = {
      permissionContext: { mode: 'explore', allow: [{ tool: 'a' }], deny: [], ask: [] },
      planModeContext: { active: true, planFile: 'plans/é.md' },
      tasksContext: { todos: [{ content: 'one\u2028two', status: 'pending' }] },
      toolContext: { activatedGroups: ['g'] },
    } as const;
    const agent = build();
    await agent.updateState(contextOf('full'), (state) => {
      Object.assign(state, structuredClone(states));
    });
    await agent.call('Hi', contextOf('full'));
    await agent.call('Hi', contextOf('empty'));
    const next = build();
    expect(await next.state(contextOf('full'))).toMatchObject(states);
    expect(await next.state(contextOf('empty'))).toMatchObject({
      permissionContext: { allow: [], deny: [], ask: [] },
      planModeContext: { active: false },
      tasksContext: { todos: [] },
      toolContext: { activatedGroups: [] },
    });
    expect(await next.state(contextOf('never'))).toBeUndefined();
  });

  it('run side by side, while calls of one session run one after the other', async () => {
    let together: () => void = () => {};
    const both = new Promise<void>((resolve) => {
      together = resolve;
    });
    const inside: string[] = [];
    const model = {
      id: 'm',
      async generate({ messages }: { readonly messages: readonly Parameters<typeof textOf>[0][] }) {
        const said = textOf(messages.at(-1) ?? []);
        inside.push(said);
        if (inside.includes('one') && inside.includes('other')) together();
        // Neither could answer if one waited for the other.
        if (said === 'one' || said === 'other') await both;
        return { content: [{ type: 'text' as const, text: said }], finishReason: 'stop' as const };
      },
    };
    const agent = HarnessAgent.builder().model(model).workspace(scratch()).build();
    await Promise.all([
      agent.call('one', contextOf('a')),
      agent.call('behind one', contextOf('a')),
      agent.call('other', contextOf('b')),
    ]);
    expect(inside.indexOf('behind one')).toBe(2);
  });

  it('that are interrupted leave the others running', async () => {
    const started = new Set<string>();
    const hang = defineTool({
      name: 'hang',
      description: 'Waits for the other session',
      input: z.object({}),
      async execute(_, { state, signal }): Promise<string> {
        started.add(state.sessionId);
        if (started.size === 2) agent.interrupt(contextOf('stopped'));
        if (state.sessionId !== 'stopped') {
          while (started.size < 2) await new Promise((resolve) => setImmediate(resolve));
          return 'went on';
        }
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
      },
    });
    const asking = {
      when: ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
        messages.at(-1)?.role === 'user',
      times: 2,
      reply: { toolCalls: [{ name: 'hang', input: {} }] },
    };
    const agent: HarnessAgent = HarnessAgent.builder()
      .model(new ScriptedModel([asking, { text: 'done' }]))
      .workspace(scratch())
      .tools(hang)
      .build();
    const [stopped, other] = await Promise.all([
      agent.call('go', contextOf('stopped')),
      agent.call('go', contextOf('other')),
    ]);
    expect([stopped.stopReason, other.stopReason]).toEqual(['interrupted', 'completed']);
    const state = await agent.state(contextOf('stopped'));
    expect(isPaired(state?.context ?? [])).toBe(true);
    expect(state?.context.flatMap(toolResultsOf)).toMatchObject([{ isError: true }]);
  });

  it('are stored as they begin and once a call, also when it is interrupted', async () => {
    const commits: SessionChange[] = [];
    class CountingSession extends InMemorySession {
      override commit(key: SessionKey, change: SessionChange): Promise<number> {
        commits.push(change);
        return super.commit(key, change);
      }
    }
    const stop = defineTool({
      name: 'stop',
      description: 'Interrupts',
      // Before tools that change something, sessions are stored as well.
      readOnly: true,
      input: z.object({}),
      execute: () => {
        agent.interrupt(contextOf('s'));
        return new Promise<string>(() => {});
      },
    });
    const agent: HarnessAgent = HarnessAgent.builder()
      .model(new ScriptedModel([{ toolCalls: [{ name: 'stop', input: {} }] }, { text: 'Hello again' }]))
      .workspace(scratch())
      .session(new CountingSession())
      .tools(stop)
      .build();
    expect((await agent.call('go', contextOf('s'))).stopReason).toBe('interrupted');
    // A new session begins with what was said.
    expect(commits.map(({ append }) => append.length)).toEqual([1, 2]);
    await agent.call('again', contextOf('s'));
    expect(commits).toHaveLength(3);
    // What was there is kept, not written again.
    expect(commits[2]).toMatchObject({ keep: 3, append: [{ role: 'user' }, { role: 'assistant' }] });
  });
});

describe('what is said', () => {
  it.each(['WorkspaceSession', 'JsonSession'])(
    'comes back as it was from a %s, whatever it is',
    async (kind) => {
      const directory = scratch();
      const build = () =>
        HarnessAgent.builder()
          .model(new ScriptedModel([echoing]))
          .workspace(directory)
          .session(
            kind === 'JsonSession'
              ? new JsonSession({ directory: `${directory}/sessions` })
              : new WorkspaceSession(storageOf(new LocalWorkspace(directory))),
          )
          .build();
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1 }), fc.uuid(), async (text, sessionId) => {
          fc.pre(text.trim() !== '');
          await build().call(text, contextOf(sessionId));
          const state = await build().state(contextOf(sessionId));
          // Half of a character is no text that a provider takes.
          const whole = text.toWellFormed();
          expect(state?.context.map(textOf)).toEqual([whole, `You said ${whole}`]);
        }),
        {
          numRuns: 20,
          examples: [
            ['\ud800', 'lone'],
            ['\u0000\u2028"\\', 'odd'],
          ],
        },
      );
    },
  );
});
