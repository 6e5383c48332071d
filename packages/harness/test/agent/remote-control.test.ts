import { type Model, RuntimeContext, type SessionStore, textOf, userMessage } from '@x/core';
import { takeTurn } from '@x/core/internal';
import { JsonSession } from '@x/core/node';
import { operationId, wrapStore } from '@x/core/store';
import { ScriptedModel } from '@x/testkit';
import { expect, it } from 'vitest';
import { RemoteControl } from '../../src/agent/remote-control.js';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's-1' });

/** A process: an agent of its own over the files that all share. */
function processOf(directory: string, model: Model, session?: SessionStore): HarnessAgent {
  return HarnessAgent.builder()
    .model(model)
    .workspace(directory)
    .session(session ?? sessionsIn(directory))
    .limits({ storeMs: 0 })
    .build();
}

function sessionsIn(directory: string): JsonSession {
  return new JsonSession({ directory: `${directory}/sessions` });
}

const hear = async (control: RemoteControl, token: string | undefined, seen: string[]) =>
  control.watch(token, async (order) => {
    seen.push(order.type);
    return true;
  });

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
});

it('reaches the call that runs elsewhere while another one waits for it here', async () => {
  const directory = scratch();
  let begun = () => {};
  const started = new Promise<void>((resolve) => {
    begun = resolve;
  });
  // Works on until it is told, or stopped.
  const model: Model = {
    id: 'busy',
    async generate({ messages, signal }) {
      begun();
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
      const isTold = messages.some((message) => textOf(message) === 'Faster');
      if (isTold)
        await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      const call = { type: 'tool_use', id: `call-${messages.length}`, name: 'look', input: {} } as const;
      return { content: [call], finishReason: 'tool-calls' };
    },
  };
  const one = processOf(directory, model);
  const other = processOf(directory, new ScriptedModel([{ text: 'In vain' }]));
  const running = one.call('Go', context, { maxIterations: 1_000_000 });
  await started;
  let waits = () => {};
  const isWaiting = new Promise<void>((resolve) => {
    waits = resolve;
  });
  const waiting = other.call('And then', context, { onWait: waits });
  await isWaiting;
  expect(await other.steer(context, 'Faster')).toBe(true);
  expect(await other.interruptAnywhere(context)).toBe(true);
  expect((await running).stopReason).toBe('interrupted');
  expect((await waiting).stopReason).toBe('interrupted');
  expect((await one.state(context))?.context.map((message) => textOf(message))).toContain('Faster');
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
});

it('tells of a message that came into the conversation beside an interrupt', async () => {
  const directory = scratch();
  const [sessions, others] = [sessionsIn(directory), sessionsIn(directory)];
  const key = processOf(directory, new ScriptedModel([])).keyOf(context);
  const turn = await takeTurn(sessions, key);
  // The call has the message, and takes it in once the interrupt is carried out.
  let take = () => {};
  const taken = new Promise<void>((resolve) => {
    take = resolve;
  });
  let end = () => {};
  const interrupted = new Promise<void>((resolve) => {
    end = resolve;
  });
  const there = new RemoteControl(others);
  const stop = await new RemoteControl(sessions).watch(turn.token, async ({ type }) => {
    if (type === 'interrupt') return true;
    take();
    await interrupted;
    return true;
  });
  const steered = there.send(key, { type: 'steer', messages: [userMessage('Päy 🎉')] });
  await taken;
  expect(await there.send(key, { type: 'interrupt' })).toBe(true);
  end();
  expect(await steered).toBe(true);
  await stop();
  await turn.release();
});

it('an order comes as it was given', async () => {
  const directory = scratch();
  const sessions = sessionsIn(directory);
  const key = processOf(directory, new ScriptedModel([])).keyOf(context);
  const turn = await takeTurn(sessions, key);
  const order = { type: 'steer', messages: [userMessage('Päy\n🎉 \ud800 "\\u0041"')] } as const;
  const seen: unknown[] = [];
  const stop = await new RemoteControl(sessions).watch(turn.token, async (given) => seen.push(given) > 0);
  expect(await new RemoteControl(sessionsIn(directory)).send(key, order)).toBe(true);
  expect(seen).toEqual([order]);
  await stop();
  await turn.release();
});

it('an order for a call that ended first is not carried out, and reaches no later one', async () => {
  const directory = scratch();
  const sessions = sessionsIn(directory);
  const key = processOf(directory, new ScriptedModel([])).keyOf(context);
  const turn = await takeTurn(sessions, key);
  const seen: string[] = [];
  // The next call of the same process begins before the order arrives.
  const other = sessionsIn(directory);
  let next: typeof turn | undefined;
  const { leases } = other;
  const find = async (...parameters: Parameters<typeof leases.find>) => {
    const holder = await leases.find(...parameters);
    if (next === undefined) {
      await turn.release();
      next = await takeTurn(sessions, key);
      await hear(new RemoteControl(sessions), next.token, seen);
    }
    return holder;
  };
  const store = wrapStore(other, { leases: { ...leases, find } });
  expect(await new RemoteControl(store).send(key, { type: 'interrupt' })).toBe(false);
  expect(seen).toEqual([]);
  await next?.release();
});

it('an order that its call does not carry out is answered at once', async () => {
  const directory = scratch();
  const sessions = sessionsIn(directory);
  const key = processOf(directory, new ScriptedModel([])).keyOf(context);
  const turn = await takeTurn(sessions, key);
  const failing = await new RemoteControl(sessions).watch(turn.token, async () => {
    throw new Error('a bug');
  });
  expect(await new RemoteControl(sessionsIn(directory)).send(key, { type: 'interrupt' })).toBe(false);
  await failing();
  await turn.release();
});

it('a look at a session that nobody runs writes nothing', async () => {
  const directory = scratch();
  const operations: string[] = [];
  const sessions = sessionsIn(directory);
  const { leases } = sessions;
  const watched = wrapStore(sessions, {
    leases: new Proxy(leases, {
      get: (target, name: keyof typeof leases) => {
        operations.push(String(name));
        return target[name];
      },
    }),
  });
  await processOf(directory, new ScriptedModel([{ text: 'one' }])).call('Go', context);
  const other = processOf(directory, new ScriptedModel([]), watched);
  operations.length = 0;
  expect(await other.interruptAnywhere(context)).toBe(false);
  expect(await other.steer(context, 'Too late')).toBe(false);
  expect(operations).toEqual(['find', 'find']);
});

it('no order reaches a call of a store without leases', async () => {
  const directory = scratch();
  const { leases: _, ...bare } = wrapStore(sessionsIn(directory), {});
  expect(await processOf(directory, new ScriptedModel([]), bare).interruptAnywhere(context)).toBe(false);
  const stop = await hear(new RemoteControl(bare), 'token', []);
  await stop();
});

it('notes that cannot be read, and the death of a sender, keep no order from being carried out', async () => {
  const directory = scratch();
  const sessions = sessionsIn(directory);
  const key = processOf(directory, new ScriptedModel([])).keyOf(context);
  const turn = await takeTurn(sessions, key);
  const holder = await sessions.leases.find(key);
  const seen: string[] = [];
  const stop = await hear(new RemoteControl(sessions), turn.token, seen);
  const to = turn.token;
  for (const text of [
    '{',
    '{"is":"order"}',
    JSON.stringify({ is: 'order', from: 'nobody', to, order: { type: 'pause' } }),
    JSON.stringify({ is: 'order', from: 'nobody', to, order: { type: 'interrupt' } }),
  ])
    await sessions.leases.processes.send(holder?.process ?? '', { id: operationId(), text });
  const order = { type: 'steer', messages: [userMessage('Hi')] } as const;
  expect(await new RemoteControl(sessionsIn(directory)).send(key, order)).toBe(true);
  expect(seen).toEqual(['interrupt', 'steer']);
  await stop();
  await turn.release();
});

it('interrupts a call in whose tool a message waits for the next step', async () => {
  const directory = scratch();
  let begun = () => {};
  const started = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const model = new ScriptedModel([
    async () => {
      begun();
      return new Promise<never>(() => {});
    },
  ]);
  const call = processOf(directory, model).call('Go', context);
  await started;
  const steered = processOf(directory, new ScriptedModel([])).steer(context, 'Later');
  expect(await processOf(directory, new ScriptedModel([])).interruptAnywhere(context)).toBe(true);
  expect((await call).stopReason).toBe('interrupted');
  expect(await steered).toBe(false);
});

it('a user is not erased while the first call of a session runs in another process', async () => {
  const directory = scratch();
  let begun = () => {};
  const started = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const hanging = async () => {
    begun();
    return new Promise<never>(() => {});
  };
  const [one, other] = [new ScriptedModel([hanging]), new ScriptedModel([])].map((model) =>
    HarnessAgent.builder().model(model).workspace(directory).build(),
  ) as [HarnessAgent, HarnessAgent];
  const call = one.call('Go', context);
  await started;
  const erased = await other.eraseUser({ userId: 'alice' });
  expect(erased).toMatchObject({ sessions: 0, files: 0 });
  expect(erased.busy.map(({ key }) => `${key}`)).toEqual([`${one.keyOf(context)}`]);
  one.interrupt(context);
  expect(await call).toMatchObject({ stopReason: 'interrupted' });
  expect(await other.eraseUser({ userId: 'alice' })).toMatchObject({ sessions: 1, busy: [] });
});
