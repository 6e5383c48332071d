import { InMemorySession, type Model, RuntimeContext, type SessionStore, textOf, wrapStore } from '@x/core';
import { JsonSession } from '@x/core/node';
import { ScriptedModel } from '@x/testkit';
import { expect, it } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's-1' });

/** A process: an agent of its own over the files that all share. */
function processOf(directory: string, model: Model, session?: SessionStore): HarnessAgent {
  return HarnessAgent.builder()
    .model(model)
    .workspace(directory)
    .session(session ?? new JsonSession({ directory: `${directory}/sessions` }))
    .settings({ remoteControlMs: 10 })
    .build();
}

/** The agents of all sessions that are stored. */
async function sessionsIn(directory: string): Promise<readonly (string | undefined)[]> {
  const found: (string | undefined)[] = [];
  for await (const { key } of new JsonSession({ directory: `${directory}/sessions` }).list()) {
    found.push(key.parts.agentId);
  }
  return found;
}

it('interrupts a call that runs in another process', async () => {
  const directory = scratch();
  let begun = () => {};
  const started = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const hanging = async () => {
    begun();
    return new Promise<never>(() => {});
  };
  const one = processOf(directory, new ScriptedModel([hanging]));
  const other = processOf(directory, new ScriptedModel([]));
  const call = one.call('Go', context);
  await started;
  expect(other.interrupt(context)).toBe(false);
  expect(await other.interruptAnywhere(context)).toBe(true);
  expect((await call).stopReason).toBe('interrupted');
  expect(await other.interruptAnywhere(context)).toBe(false);
  expect(await sessionsIn(directory)).toEqual(['agent']);
});

it('steers a call that runs in another process, and tells when it is in the conversation', async () => {
  const directory = scratch();
  let begun = () => {};
  const started = new Promise<void>((resolve) => {
    begun = resolve;
  });
  // Works on until it is told otherwise.
  const model: Model = {
    id: 'busy',
    async generate({ messages }) {
      begun();
      await new Promise((resolve) => setImmediate(resolve));
      const isTold = messages.some((message) => textOf(message) === 'In French, please');
      const [text, call] = [
        { type: 'text', text: 'Bonjour' },
        { type: 'tool_use', id: `call-${messages.length}`, name: 'look', input: {} },
      ] as const;
      return { content: [isTold ? text : call], finishReason: isTold ? 'stop' : 'tool-calls' };
    },
  };
  const one = processOf(directory, model);
  const other = processOf(directory, new ScriptedModel([]));
  const call = one.call('Go', context, { maxIterations: 1_000_000 });
  await started;
  expect(await other.steer(context, 'In French, please')).toBe(true);
  expect((await call).text).toBe('Bonjour');
  expect(await sessionsIn(directory)).toEqual(['agent']);
});

it('carries out the orders of several processes, each once, and keeps none', async () => {
  const directory = scratch();
  let begun = () => {};
  const started = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const orders = Array.from({ length: 6 }, (_, index) => `order ${index}`);
  const model: Model = {
    id: 'busy',
    async generate({ messages }) {
      begun();
      await new Promise((resolve) => setImmediate(resolve));
      const isTold = orders.every((order) => messages.some((message) => textOf(message) === order));
      const call = { type: 'tool_use', id: `call-${messages.length}`, name: 'look', input: {} } as const;
      return {
        content: [isTold ? { type: 'text', text: 'Done' } : call],
        finishReason: isTold ? 'stop' : 'tool-calls',
      };
    },
  };
  const call = processOf(directory, model).call('Go', context, { maxIterations: 1_000_000 });
  await started;
  const others = [1, 2, 3].map(() => processOf(directory, new ScriptedModel([])));
  const given = orders.map((order, index) => others[index % 3]?.steer(context, order));
  expect(await Promise.all(given)).toEqual(orders.map(() => true));
  const told = (await call).messages.map(textOf).filter((text) => text.startsWith('order'));
  expect(told.toSorted()).toEqual(orders);
  expect(await sessionsIn(directory)).toEqual(['agent']);
});

it('leaves nothing of an order whose call ended before it', async () => {
  const directory = scratch();
  const inner = new JsonSession({ directory: `${directory}/sessions` });
  const key = processOf(directory, new ScriptedModel([])).keyOf(context);
  const lease = await inner.lease(key, { ttlMs: 60_000 });
  // The call ends once the order is there.
  const store = wrapStore(inner, {
    commit: async (...parameters) => {
      const version = await inner.commit(...parameters);
      await lease?.release();
      return version;
    },
  });
  expect(await processOf(directory, new ScriptedModel([]), store).interruptAnywhere(context)).toBe(false);
  expect(await sessionsIn(directory)).toEqual([]);
});

it('takes an order back that no call can carry out', async () => {
  const directory = scratch();
  const one = processOf(directory, new ScriptedModel([{ text: 'done' }]));
  await one.call('Go', context);
  expect(await processOf(directory, new ScriptedModel([])).steer(context, 'Too late')).toBe(false);
  const alone = new InMemorySession();
  expect(await processOf(directory, new ScriptedModel([]), alone).interruptAnywhere(context)).toBe(false);
});
