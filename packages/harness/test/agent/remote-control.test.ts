import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import {
  assistantMessage,
  InMemorySession,
  type Message,
  type Model,
  RuntimeContext,
  SessionKey,
  type SessionStore,
  SessionStoreError,
  textOf,
  userMessage,
} from '@x/core';
import { JsonSession } from '@x/core/node';
import { operationId, wrapStore } from '@x/core/store';
import { ScriptedModel } from '@x/testkit';
import { expect, it, onTestFinished, vi } from 'vitest';
import { RemoteControl } from '../../src/agent/remote-control.js';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's-1' });

/** A process: an agent of its own over the files that all share. One that dies while it stores fails nothing later. */
function processOf(directory: string, model: Model, session?: SessionStore): HarnessAgent {
  return (
    HarnessAgent.builder()
      .model(model)
      .workspace(directory)
      .session(session ?? new JsonSession({ directory: `${directory}/sessions` }))
      // However slow the machine is, nobody loses a turn.
      .settings({ remoteControlMs: 10, leaseTtlMs: 600_000 })
      .limits({ storeMs: 0 })
      .build()
  );
}

/** The agents of all sessions that are stored, and the orders. */
async function storedIn(directory: string): Promise<readonly (string | undefined)[]> {
  const found: (string | undefined)[] = [];
  const sessions = new JsonSession({ directory: `${directory}/sessions` });
  for (const records of [sessions, sessions.collection('orders')])
    for await (const { key } of records.list()) found.push(key.parts.agentId);
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
  expect(await storedIn(directory)).toEqual(['agent']);
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
  expect(await storedIn(directory)).toEqual(['agent']);
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
  expect(await storedIn(directory)).toEqual(['agent']);
});

it('tells of a message that came into the conversation beside an interrupt', async () => {
  const directory = scratch();
  const sessions = new JsonSession({ directory: `${directory}/sessions` });
  const key = processOf(directory, new ScriptedModel([])).keyOf(context);
  const lease = await sessions.lease(key, { ttlMs: 60_000 });
  const [here, there] = [new RemoteControl(sessions, 10), new RemoteControl(sessions, 10)];
  // The call has the message, and takes it in once the interrupt is carried out.
  let take = () => {};
  const taken = new Promise<void>((resolve) => {
    take = resolve;
  });
  let end = () => {};
  const interrupted = new Promise<void>((resolve) => {
    end = resolve;
  });
  const stop = await here.watch(key, async ({ type }) => {
    if (type === 'interrupt') return true;
    take();
    await interrupted;
    return true;
  });
  const steered = there.send(key, { type: 'steer', messages: [userMessage('Pay')] });
  await taken;
  expect(await there.send(key, { type: 'interrupt' })).toBe(true);
  end();
  expect(await steered).toBe(true);
  await stop();
  await lease?.release();
  expect(await storedIn(directory)).toEqual([]);
});

it('leaves nothing of an order whose call ended before it', async () => {
  const directory = scratch();
  const sessions = new JsonSession({ directory: `${directory}/sessions` });
  const key = processOf(directory, new ScriptedModel([])).keyOf(context);
  const lease = await sessions.lease(key, { ttlMs: 60_000 });
  // The call ends once the order is there.
  const store = wrapStore(sessions, (inner) => ({
    commit: async (...parameters) => {
      const version = await inner.commit(...parameters);
      await lease?.release();
      return version;
    },
  }));
  expect(await processOf(directory, new ScriptedModel([]), store).interruptAnywhere(context)).toBe(false);
  expect(await storedIn(directory)).toEqual([]);
});

it('takes back its own order alone: a slow sender leaves that of the next one', async () => {
  const directory = scratch();
  const sessions = new JsonSession({ directory: `${directory}/sessions` });
  const key = processOf(directory, new ScriptedModel([])).keyOf(context);
  const lease = await sessions.lease(key, { ttlMs: 60_000 });
  const done = { interrupt: 0, steer: 0 };
  const watch = () =>
    new RemoteControl(sessions, 10).watch(key, async ({ type }) => {
      done[type]++;
      return true;
    });
  // The first sender is held up as it takes back its order, until the next has given one or has looked for room for it.
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let begin = () => {};
  const deleting = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const slow = wrapStore(sessions, (inner) => ({
    delete: async (place) => {
      begin();
      await held;
      return inner.delete(place);
    },
  }));
  let stop = await watch();
  const first = new RemoteControl(slow, 10).send(key, { type: 'interrupt' });
  await deleting;
  await stop();
  // The next call finds what is left, and the next sender comes.
  stop = await watch();
  let looks = 0;
  const looking = wrapStore(sessions, (inner) => ({
    load: (...parameters) => {
      if (++looks === 3) goOn();
      return inner.load(...parameters);
    },
    commit: async (...parameters) => {
      const version = await inner.commit(...parameters);
      goOn();
      await first;
      return version;
    },
  }));
  expect(await new RemoteControl(looking, 10).send(key, { type: 'interrupt' })).toBe(true);
  expect(await first).toBe(true);
  expect(done).toEqual({ interrupt: 2, steer: 0 });
  await stop();
  await lease?.release();
  expect(await storedIn(directory)).toEqual([]);
});

it('a look at a session that nobody runs is in nobody’s way', async () => {
  const directory = scratch();
  const sessions = new JsonSession({ directory: `${directory}/sessions` });
  const one = processOf(directory, new ScriptedModel([{ text: 'one' }, { text: 'two' }]));
  const others = [1, 2, 3].map(() => new RemoteControl(sessions, 10));
  const rejecting = HarnessAgent.builder()
    .model(new ScriptedModel([1, 2, 3].map((round) => ({ text: `${round}` }))))
    .workspace(directory)
    .session(sessions)
    .turns('reject')
    .build();
  await one.call('Go', context);
  const lease = vi.spyOn(sessions, 'lease');
  for (let round = 1; round <= 3; round++) {
    const looks = others.map((other) => other.send(one.keyOf(context), { type: 'interrupt' }));
    expect(await Promise.all(looks)).toEqual([false, false, false]);
    expect(lease).not.toHaveBeenCalled();
  }
  // A look beside a turn that is rejected where another has it.
  for (let round = 1; round <= 3; round++) {
    const look = sessions.isLeased(one.keyOf(context));
    expect((await rejecting.call('Go', context)).text).toBe(`${round}`);
    await look;
  }
});

it('takes an order back that no call can carry out', async () => {
  const directory = scratch();
  const one = processOf(directory, new ScriptedModel([{ text: 'done' }]));
  await one.call('Go', context);
  expect(await processOf(directory, new ScriptedModel([])).steer(context, 'Too late')).toBe(false);
  const alone = new InMemorySession();
  expect(await processOf(directory, new ScriptedModel([]), alone).interruptAnywhere(context)).toBe(false);
});

it('does not let an order for a call that ended reach the next one', async () => {
  const directory = scratch();
  const sessions = new JsonSession({ directory: `${directory}/sessions` });
  const key = processOf(directory, new ScriptedModel([])).keyOf(context);
  const dying = await sessions.lease(key, { ttlMs: 60_000 });
  // A process gives an order, and dies before it hears of it.
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  const store = wrapStore(sessions, (inner) => ({
    commit: async (...parameters) => {
      await inner.commit(...parameters);
      give();
      return new Promise<never>(() => {});
    },
  }));
  void processOf(directory, new ScriptedModel([]), store).steer(context, 'Not for you');
  await given;
  expect(await storedIn(directory)).toEqual(['agent/steer']);
  await dying?.release();
  let looks = 0;
  const counting = wrapStore(sessions, (inner) => ({
    load: (...parameters) => {
      looks++;
      return inner.load(...parameters);
    },
  }));
  const model: Model = {
    id: 'patient',
    async generate() {
      // Until the call has looked for orders more than once.
      const seen = looks;
      while (looks < seen + 3) await new Promise((resolve) => setImmediate(resolve));
      return { content: [{ type: 'text', text: 'Done' }], finishReason: 'stop' };
    },
  };
  const reply = await processOf(directory, model, counting).call('Go', context);
  expect(reply.messages.map(textOf)).toEqual(['Go', 'Done']);
  expect(await storedIn(directory)).toEqual(['agent']);
});

it('tells a sender whose call ended before its order that it was not carried out, though the next call runs', async () => {
  const directory = scratch();
  const sessions = new JsonSession({ directory: `${directory}/sessions` });
  const ended = await sessions.lease(processOf(directory, new ScriptedModel([])).keyOf(context), {
    ttlMs: 60_000,
  });
  let finish = () => {};
  const told = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let next: Promise<unknown> = Promise.resolve();
  const held = async () => {
    await told;
    return { text: 'Done' };
  };
  const store = wrapStore(sessions, (inner) => ({
    commit: async (...parameters) => {
      const version = await inner.commit(...parameters);
      // The call ends, and another begins before the sender looks again.
      await ended?.release();
      const asked = new Promise<void>((begin) => {
        next = processOf(
          directory,
          new ScriptedModel([
            () => {
              begin();
              return held();
            },
          ]),
        ).call('Go', context);
      });
      await asked;
      return version;
    },
  }));
  expect(await processOf(directory, new ScriptedModel([]), store).interruptAnywhere(context)).toBe(false);
  finish();
  expect(await next).toMatchObject({ stopReason: 'completed', text: 'Done' });
});

it('takes orders of others though the sender of an order died before it heard that it was carried out', async () => {
  const directory = scratch();
  const sessions = new JsonSession({ directory: `${directory}/sessions` });
  const dying = wrapStore(sessions, (inner) => ({
    commit: async (...parameters) => {
      await inner.commit(...parameters);
      return new Promise<never>(() => {});
    },
  }));
  let begun = () => {};
  const started = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const isTold = (messages: readonly Message[], text: string) =>
    messages.some((message) => textOf(message) === text);
  const model: Model = {
    id: 'busy',
    async generate({ messages }) {
      begun();
      await new Promise((resolve) => setImmediate(resolve));
      const call = { type: 'tool_use', id: `call-${messages.length}`, name: 'look', input: {} } as const;
      const isEnd = isTold(messages, 'two');
      return {
        content: [isEnd ? { type: 'text', text: 'Done' } : call],
        finishReason: isEnd ? 'stop' : 'tool-calls',
      };
    },
  };
  const call = processOf(directory, model).call('Go', context, { maxIterations: 1_000_000 });
  await started;
  void processOf(directory, new ScriptedModel([]), dying).steer(context, 'one');
  while ((await storedIn(directory)).length === 0);
  expect(await processOf(directory, new ScriptedModel([])).steer(context, 'two')).toBe(true);
  const said = (await call).messages.filter(({ role }) => role === 'user').map(textOf);
  expect(said).toEqual(['Go', 'one', 'two']);
  expect(await storedIn(directory)).toEqual(['agent']);
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
  while ((await storedIn(directory)).length === 0);
  expect(await processOf(directory, new ScriptedModel([])).interruptAnywhere(context)).toBe(true);
  expect((await call).stopReason).toBe('interrupted');
  expect(await steered).toBe(false);
});

/** Puts what cannot be read in the place of an order. */
const spoilers: Readonly<Record<string, (file: string) => void>> = {
  'is damaged': (file) => writeFileSync(file, '{'),
  'is of a newer store': (file) =>
    writeFileSync(file, readFileSync(file, 'utf8').replace('"format":1', '"format":9')),
  'has an unknown type': (file) =>
    writeFileSync(file, readFileSync(file, 'utf8').replace('"type":"steer"', '"type":"pause"')),
};

it.each(Object.entries(spoilers))(
  'an order that %s keeps no call and no other order from being done',
  async (_, spoil) => {
    const warnings: string[] = [];
    const warned = vi
      .spyOn(process, 'emitWarning')
      .mockImplementation((text) => void warnings.push(String(text)));
    onTestFinished(() => warned.mockRestore());
    const directory = scratch();
    const sessions = new JsonSession({ directory: `${directory}/sessions` });
    const key = processOf(directory, new ScriptedModel([])).keyOf(context);
    // Spoiled before it is there, so that nobody finds it whole.
    const lay = async () => {
      const place = SessionKey.of({ ...key.parts, agentId: 'agent/steer', sessionId: 's-1/steer' });
      const data = { type: 'steer', messages: [] };
      const append = [assistantMessage([{ type: 'opaque', provider: 'x-control', data }])];
      const elsewhere = scratch();
      const change = { operation: operationId(), expected: undefined, head: {}, keep: 0, append };
      await new JsonSession({ directory: elsewhere }).commit(place, change);
      const { agentId, sessionId, userId } = place.path;
      const folder = `users/${userId}/agents/${agentId}/sessions`;
      spoil(`${elsewhere}/${folder}/${sessionId}.json`);
      const orders = `${directory}/sessions/collections/orders/${folder}`;
      mkdirSync(orders, { recursive: true });
      renameSync(`${elsewhere}/${folder}/${sessionId}.json`, `${orders}/${sessionId}.json`);
    };
    const text = async () =>
      (await processOf(directory, new ScriptedModel([{ text: 'Done' }])).call('Go', context)).text;
    await lay();
    expect(await text()).toBe('Done');
    expect(warnings.filter((warning) => warning.includes('is ignored'))).toHaveLength(1);
    expect(await storedIn(directory)).toEqual(['agent']);

    // Also one that comes while a call runs, and whoever finds it first.
    const lease = await sessions.lease(key, { ttlMs: 60_000 });
    const seen: string[] = [];
    const stop = await new RemoteControl(sessions, 10).watch(key, async ({ type }) => {
      seen.push(type);
      return true;
    });
    await lay();
    const order = { type: 'steer', messages: [userMessage('Hi')] } as const;
    expect(await new RemoteControl(sessions, 10).send(key, order)).toBe(true);
    expect(seen).toEqual(['steer']);
    await stop();
    await lease?.release();
    expect(await storedIn(directory)).toEqual(['agent']);
  },
);

it('a call runs, and a sender is told, where an order that cannot be read cannot be removed', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  onTestFinished(() => warned.mockRestore());
  const directory = scratch();
  const sessions = new JsonSession({ directory: `${directory}/sessions` });
  const key = processOf(directory, new ScriptedModel([])).keyOf(context);
  const stuck = async () => {
    throw new SessionStoreError('session_corrupt', 'The order is damaged.');
  };
  const store = wrapStore(sessions, (_, collection) => (collection ? { load: stuck, delete: stuck } : {}));
  const lease = await sessions.lease(key, { ttlMs: 60_000 });
  const control = new RemoteControl(store, 10);
  const stop = await control.watch(key, async () => true);
  await expect(control.send(key, { type: 'interrupt' })).rejects.toMatchObject({ code: 'session_corrupt' });
  await stop();
  await lease?.release();
  const agent = processOf(directory, new ScriptedModel([{ text: 'Done' }]), store);
  expect((await agent.call('Go', context)).text).toBe('Done');
});
