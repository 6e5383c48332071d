import { join } from 'node:path';
import { defineTool, InMemorySession, RuntimeContext, SessionKey, textOf, userMessage } from '@x/core';
import { JsonSession, WorkspaceSessionLog } from '@x/core/node';
import { wrapStore } from '@x/core/store';
import { commitAt } from '@x/test-support';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const key = SessionKey.of({ agentId: 'agent', sessionId: 's' });

/** Lets everything go on that waits for nothing from outside. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe('a permission mode that is set while a call saves', () => {
  it('stores nothing that is not in the log yet', async () => {
    const directory = scratch();
    const sessions = new JsonSession({ directory: join(directory, 'sessions') });
    const order: string[] = [];
    let set: Promise<void> = Promise.resolve();
    const { append } = WorkspaceSessionLog.prototype;
    const held = vi.spyOn(WorkspaceSessionLog.prototype, 'append');
    onTestFinished(() => void held.mockRestore());
    held.mockImplementationOnce(async function (this: WorkspaceSessionLog, messages) {
      set = agent.setPermissionMode(context, 'explore');
      await settle();
      await append.call(this, messages);
      order.push('logged');
    });
    const store = wrapStore(sessions, {
      commit: (...parameters) => {
        order.push('stored');
        return sessions.commit(...parameters);
      },
    });
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([{ text: 'Done' }]))
      .workspace(directory)
      .session(store)
      .build();
    await agent.call('Go', context);
    await set;
    expect(order.slice(0, 2)).toEqual(['logged', 'stored']);
    expect((await agent.state(context))?.permissionContext.mode).toBe('explore');
  });

  it('leaves a merge everything that the call has said since, though it compacts', async () => {
    // Without leases, as only one process can reach it.
    const inner: InMemorySession = Object.defineProperty(new InMemorySession(), 'leases', {
      value: undefined,
    });
    let commits = 0;
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let send = () => {};
    const sent = new Promise<void>((resolve) => {
      send = resolve;
    });
    let set: Promise<void> = Promise.resolve();
    const store = wrapStore(inner, {
      async commit(sessionKey, change) {
        commits++;
        if (commits === 1) {
          // Asked for while the first commit is under way, and under way itself while the model answers.
          set = agent.setPermissionMode(context, 'bypass');
          await settle();
        } else if (commits === 2) {
          send();
          await answered.then(settle);
        } else if (commits === 3) {
          // Another writer compacts.
          const summary = userMessage('Theirs', { kind: 'summary' });
          const { head } = (await inner.load(sessionKey)) ?? {};
          if (head)
            await commitAt(inner, key, { expectedVersion: 'latest', head, keep: 0, append: [summary] });
        }
        return inner.commit(sessionKey, change);
      },
    });
    const agent: HarnessAgent = HarnessAgent.builder()
      .model(new ScriptedModel([() => sent.then(() => ({ text: 'said' }))]))
      .workspace(scratch())
      .session(store)
      .onConflict('merge')
      .checkpoint('step')
      .use({
        name: 'compacts',
        observe(event, { state }) {
          if (event.type !== 'model.completed') return;
          const live = state.contextMutable();
          live.splice(0, live.length, userMessage('Ours', { kind: 'summary' }));
          answer();
        },
      })
      .build();
    await agent.call('Go', context);
    await set;
    const texts = (await inner.load(key))?.messages.map((message) => textOf(message));
    expect(texts).toEqual(['Theirs', 'said']);
  });
});

it.each([
  ['call', 2],
  ['effect', 2],
  ['step', 5],
] as const)(
  'a session is stored after each step that only reads where the checkpoint is %s alone',
  async (checkpoint, commits) => {
    const inner = new InMemorySession();
    const commit = vi.fn(inner.commit.bind(inner));
    const look = defineTool({
      name: 'look',
      description: '',
      readOnly: true,
      input: z.object({}),
      execute: () => 'it',
    });
    const agent = HarnessAgent.builder()
      .model(
        new ScriptedModel([
          ...[1, 2, 3].map(() => ({ toolCalls: [{ name: 'look', input: {} }] })),
          { text: 'Done' },
        ]),
      )
      .workspace(scratch())
      .session(wrapStore(inner, { commit }))
      .tools(look)
      .checkpoint(checkpoint)
      .build();
    await agent.call('Go', context);
    expect(commit).toHaveBeenCalledTimes(commits);
    // The results of a step come with the answer that asked for them.
    const ends = commit.mock.calls.map(([, { append }]) => append.at(-1)?.role);
    expect(ends).toEqual(
      checkpoint === 'step' ? ['user', 'tool', 'tool', 'tool', 'assistant'] : ['user', 'assistant'],
    );
  },
);
