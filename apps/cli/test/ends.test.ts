import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineTool, RuntimeContext, type SessionStore, textOf } from '@x/core';
import { pairingOf } from '@x/core/messages';
import { wrapLeases, wrapStore } from '@x/core/store';
import { HarnessAgent, shutdownOnSignals } from '@x/harness';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTestedStore } from './support/tested-store.js';

const context = RuntimeContext.of({ sessionId: 's' });
const never = new Promise<never>(() => {});

/** Opens the store of a new place, again and again, as one process after the other does. */
function place(kind: 'sqlite' | 'workspace') {
  const directory = mkdtempSync(join(tmpdir(), 'x-ends-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));
  const address = kind === 'sqlite' ? join(directory, 'sessions.db') : directory;
  return {
    directory,
    open: async () => {
      const { store, close } = await openTestedStore({ kind, address });
      onTestFinished(close);
      return store;
    },
  };
}

type Place = ReturnType<typeof place>;

const pay = (execute: () => string | Promise<string>) =>
  defineTool({ name: 'pay', description: 'Pays', input: { type: 'object' }, execute });
const PAY = { toolCalls: [{ id: 'call-1', name: 'pay', input: {} }] };

function agentIn({ directory }: Place, session: SessionStore, model: ScriptedModel) {
  return HarnessAgent.builder().model(model).workspace(directory).session(session);
}

/** The session as another process finds it: it opens, each call has its result, and a call continues. */
async function goneOn(where: Place) {
  const agent = agentIn(where, await where.open(), new ScriptedModel([{ text: 'on' }])).build();
  expect((await agent.call('Go on', context)).text).toBe('on');
  const messages = (await agent.state(context))?.context ?? [];
  const { orphanCalls, orphanResults, open } = pairingOf(messages);
  expect([orphanCalls.size, orphanResults.size, open.size]).toEqual([0, 0, 0]);
  await agent.close();
  return messages.map(textOf);
}

describe.each(['sqlite', 'workspace'] as const)('with sessions in a store of the kind %s', (kind) => {
  it.each(['before', 'behind'])(
    'an interruption %s any commit ends the call and forgets no payment',
    async (when) => {
      let commits = 1;
      for (let at = 1; at <= commits; at++) {
        const where = place(kind);
        const inner = await where.open();
        let [count, paid] = [0, 0];
        const session = wrapStore(inner, {
          async commit(...parameters) {
            const isNow = ++count === at;
            if (isNow && when === 'before') agent.interrupt(context);
            const version = await inner.commit(...parameters);
            if (isNow && when === 'behind') agent.interrupt(context);
            return version;
          },
        });
        const agent = agentIn(where, session, new ScriptedModel([PAY, { text: 'Paid.' }]))
          .tools(pay(() => `paid ${++paid}`))
          .build();
        const { stopReason } = await agent.call('Pay', context);
        // The last commit stores how the call ended.
        if (stopReason !== 'interrupted') expect([stopReason, count]).toEqual(['completed', at]);
        commits = Math.max(commits, count);
        await agent.close();
        const said = await goneOn(where);
        expect(said[0]).toBe('Pay');
        expect(said.some((text) => /^paid 1$|may or may not have taken effect/.test(text))).toBe(paid === 1);
      }
      expect(commits).toBeGreaterThanOrEqual(3);
    },
  );

  it('SIGTERM beside a tool that ignores its signal ends the process, and says so to the next', async () => {
    const where = place(kind);
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const deaf = pay(() => {
      begin();
      return never;
    });
    const agent = agentIn(where, await where.open(), new ScriptedModel([PAY]))
      .tools(deaf)
      .build();
    const listeners: ((signal: 'SIGTERM') => void)[] = [];
    const exited = new Promise<number>((exit) => {
      const on = (_: string, listener: (signal: 'SIGTERM') => void) => listeners.push(listener);
      const target = { on, off: () => {}, exit, emitWarning: () => {} };
      shutdownOnSignals(agent, { signals: ['SIGTERM'], drainMs: 50, process: target });
    });
    const call = agent.call('Pay', context);
    await begun;
    listeners[0]?.('SIGTERM');
    expect(await exited).toBe(143);
    expect((await call).stopReason).toBe('shutdown');
    expect((await goneOn(where)).join('\n')).toContain('shut down before this call finished');
  });

  it.each(['commit', 'take'] as const)(
    'close() beside a store whose %s hangs ends, and the session opens',
    async (operation) => {
      const where = place(kind);
      const inner = await where.open();
      let isHanging = false;
      let begin = () => {};
      const begun = new Promise<void>((resolve) => {
        begin = resolve;
      });
      const hang = () => {
        begin();
        return never;
      };
      const session = wrapStore(inner, {
        commit: (...given) => (isHanging && operation === 'commit' ? hang() : inner.commit(...given)),
        leases:
          inner.leases &&
          wrapLeases(inner.leases, (name, _, task) => (isHanging && operation === name ? hang() : task())),
      });
      const agent = agentIn(where, session, new ScriptedModel([{ text: 'one' }, { text: 'two' }]))
        .limits({ storeMs: 2_000, outageMs: 2_000, closeMs: 20 })
        .build();
      await agent.call('Hi', context);
      isHanging = true;
      const call = expect(agent.call('And?', context)).rejects.toMatchObject({
        code: expect.stringMatching(/^(session_unavailable|agent_closed)$/),
      });
      await begun;
      await agent.close();
      await call;
      expect((await goneOn(where)).slice(0, 2)).toEqual(['Hi', 'one']);
    },
  );
});
