import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Agent,
  type AgentInputItem,
  isOpenAIResponsesCompactionAwareSession,
  isSessionHistoryRewriteAwareSession,
  isSessionHistoryTransactionAwareSession,
  MemorySession,
  OutputGuardrailTripwireTriggered,
  run,
  type SessionHistoryTransaction,
  type SessionHistoryTransactionAwareSession,
  tool,
} from '@openai/agents';
import {
  InMemorySession,
  InvalidInputError,
  openSession,
  SessionConflictError,
  SessionKey,
  type SessionStore,
  SessionStoreError,
  userMessage,
} from '@x/core';
import { JsonSession } from '@x/core/node';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { AgentsSession } from '../src/index.js';
import { answered, called, FakeModel, said, user } from './fake-model.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-001' });
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'x-agents-'));
});
afterEach(() => rm(directory, { recursive: true, maxRetries: 20 }));

const weather = tool({
  name: 'get_weather',
  description: 'Current weather',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `Sunny in ${city}`,
});

describe.each([
  ['InMemorySession', () => new InMemorySession()],
  ['JsonSession', () => new JsonSession({ directory })],
])('over %s', (_, makeStore: () => SessionStore) => {
  let store: SessionStore;
  beforeEach(() => {
    store = makeStore();
  });
  const open = (at = key) => new AgentsSession({ store, key: at });

  it('carries a conversation with tools from one run to the next, whoever opens it', async () => {
    const reasoning: AgentInputItem = {
      type: 'reasoning',
      id: 'rs_1',
      content: [],
      providerData: { encrypted_content: 'gAAAA==', later: { nested: [1, null] } },
    };
    const model = new FakeModel(
      [reasoning as never, called('call-1', 'get_weather', { city: 'Bern' })],
      [said('Sunny.')],
      [said('Still sunny.')],
    );
    const agent = new Agent({ name: 'Weather', model, tools: [weather] });
    await run(agent, 'Weather in Bern?', { session: open() });
    const result = await run(agent, 'And now?', { session: open() });
    expect(result.finalOutput).toBe('Still sunny.');
    expect(model.inputs[2]).toMatchObject([
      { role: 'user', content: 'Weather in Bern?' },
      reasoning,
      { type: 'function_call', callId: 'call-1', arguments: '{"city":"Bern"}' },
      { type: 'function_call_result', callId: 'call-1', output: { type: 'text', text: 'Sunny in Bern' } },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Sunny.' }] },
      { role: 'user', content: 'And now?' },
    ]);
    expect(await open().getItems()).toHaveLength(7);
  });

  it('behaves as the SDK’s own session for any operations', async () => {
    const operation = fc.oneof(
      fc.record({ add: fc.array(fc.string(), { maxLength: 3 }) }),
      fc.record({ get: fc.option(fc.integer({ min: -1, max: 8 }), { nil: undefined }) }),
      fc.constant({ pop: true }),
      fc.record({ clear: fc.constant(true) }),
      fc.record({ append: fc.array(fc.string(), { maxLength: 2 }), id: fc.constantFrom('a', 'b') }),
      fc.record({ suffix: fc.nat({ max: 2 }), to: fc.array(fc.string(), { maxLength: 2 }), id: fc.uuid() }),
    );
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 15 }), async (operations) => {
        const ours = open(SessionKey.of(`run-${runs++}`));
        const theirs = new MemorySession();
        const outcome = (result: Promise<unknown>) =>
          result.then(
            (value) => ({ value }),
            () => 'refused',
          );
        for (const step of operations) {
          const both = async (act: (session: MemorySession | AgentsSession) => Promise<unknown>) =>
            expect(await outcome(act(ours))).toEqual(await outcome(act(theirs)));
          if ('add' in step) await both((session) => session.addItems(step.add.map(user)));
          else if ('get' in step) await both((session) => session.getItems(step.get));
          else if ('pop' in step) await both((session) => session.popItem());
          else if ('clear' in step) await both((session) => session.clearSession());
          else if ('append' in step) {
            const transaction = { type: 'append_items' as const, items: step.append.map(user) };
            await both((session) => session.applyHistoryTransaction({ operationId: step.id, transaction }));
          } else {
            const items = await theirs.getItems();
            const transaction = {
              type: 'replace_suffix' as const,
              expectedSuffix: items.slice(items.length - step.suffix),
              replacement: step.to.map(user),
            };
            await both((session) => session.applyHistoryTransaction({ operationId: step.id, transaction }));
          }
        }
        expect(await ours.getItems()).toEqual(await theirs.getItems());
      }),
      { numRuns: 40 },
    );
  });

  it('gives every item back byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), fc.uint8Array(), async (value, bytes) => {
        const item = {
          type: 'unknown',
          providerData: { value, bytes, $mark: { '$openai-agents': 'bytes', data: 'AA==' } },
        } as AgentInputItem;
        const session = open(SessionKey.of('bytes'));
        await session.addItems([item]);
        const [back] = await session.getItems(1);
        const plain = (data: unknown) =>
          JSON.stringify(data, (_key, child) => (child instanceof Uint8Array ? [...child] : child));
        expect(plain(back)).toBe(plain(item));
      }),
      { numRuns: 20 },
    );
  });

  it('loses no item of two writers', async () => {
    const [left, right] = [open(), open()];
    const write = async (session: AgentsSession, name: string) => {
      for (let index = 0; index < 10; index++) await session.addItems([user(`${name} ${index}`)]);
    };
    await Promise.all([write(left, 'left'), write(right, 'right')]);
    const texts = (await left.getItems()).map((item) => JSON.stringify(item));
    expect(texts).toHaveLength(20);
    for (const name of ['left', 'right']) {
      const own = texts.filter((text) => text.includes(name));
      expect(own).toEqual(Array.from({ length: 10 }, (_, index) => JSON.stringify(user(`${name} ${index}`))));
    }
  });

  it('keeps the sessions of users apart, and their ids', async () => {
    const [alice, bob] = [open(), open(SessionKey.of({ userId: 'bob', sessionId: 's-001' }))];
    await alice.addItems([user('secret')]);
    expect(await bob.getItems()).toEqual([]);
    await bob.clearSession();
    expect(await bob.popItem()).toBeUndefined();
    expect(await alice.getItems()).toEqual([user('secret')]);
    const ids = [alice, bob, open(SessionKey.of('s-001')), open(SessionKey.of('/alice//s-001'))];
    expect(await Promise.all(ids.map((session) => session.getSessionId()))).toEqual([
      '/alice//s-001',
      '/bob//s-001',
      's-001',
      '///%2falice%2f%2fs-001',
    ]);
  });

  it('applies a transaction once, also when another process repeats it', async () => {
    const transaction = { type: 'append_items' as const, items: [user('once')] };
    await open().applyHistoryTransaction({ operationId: 'op-1', transaction });
    await open().applyHistoryTransaction({ operationId: 'op-1', transaction });
    expect(await open().getItems()).toEqual([user('once')]);
    const other = { type: 'append_items' as const, items: [user('twice')] };
    const refusal = (operationId: string, refused: SessionHistoryTransaction) =>
      expect(open().applyHistoryTransaction({ operationId, transaction: refused })).rejects.toBeInstanceOf(
        InvalidInputError,
      );
    await refusal('op-1', other);
    await refusal('op-2', { type: 'replace_suffix', expectedSuffix: [user('other')], replacement: [] });
    await refusal(' ', transaction);
    const getter = {
      get transaction(): SessionHistoryTransaction {
        throw new Error('api-key-secret');
      },
    };
    const message = await open()
      .applyHistoryTransaction(
        Object.defineProperty({ operationId: 'op-3' }, 'transaction', {
          ...Object.getOwnPropertyDescriptor(getter, 'transaction'),
        }) as never,
      )
      .catch(String);
    expect(message).toContain('cannot be read');
    expect(message).not.toContain('api-key-secret');
    expect(await open().getItems()).toEqual([user('once')]);
  });

  it('is the session of a run whose output a guardrail refused', async () => {
    const model = new FakeModel([called('call-1', 'get_weather', { city: 'Bern' })], [said('Secret.')]);
    const agent = new Agent({
      name: 'Weather',
      model,
      tools: [weather],
      outputGuardrails: [{ name: 'no', execute: async () => ({ tripwireTriggered: true, outputInfo: {} }) }],
    });
    const memory = new MemorySession();
    const failures: unknown[] = [];
    for (const session of [open(), memory]) {
      const own = new FakeModel([called('call-1', 'get_weather', { city: 'Bern' })], [said('Secret.')]);
      await run(agent.clone({ model: own }), 'Weather?', { session }).catch((error: unknown) =>
        failures.push(error),
      );
    }
    expect(failures.map((failure) => failure instanceof OutputGuardrailTripwireTriggered)).toEqual([
      true,
      true,
    ]);
    const items = await open().getItems();
    expect(items).toEqual(await memory.getItems());
    expect(JSON.stringify(items)).toContain('Sunny in Bern');
    expect(JSON.stringify(items)).not.toContain('Secret.');
  });

  it('replaces calls that a human changed', async () => {
    const session = open();
    const replacement = called('call-1', 'get_weather', { city: 'Thun' }) as Extract<
      AgentInputItem,
      { type: 'function_call' }
    >;
    await session.addItems([user('Weather?'), called('call-1', 'get_weather', { city: 'Bern' }), said('Hm')]);
    await session.applyHistoryMutations({
      mutations: [{ type: 'replace_function_call', callId: 'call-1', replacement }],
    });
    expect(await session.getItems()).toEqual([user('Weather?'), replacement, said('Hm')]);
  });

  it('replaces the history at once', async () => {
    const session = open();
    await session.addItems([user('a'), said('b')]);
    const compaction: AgentInputItem = { type: 'compaction', encrypted_content: 'gAAA' };
    await session.replaceHistoryWithCompaction([compaction, user('c')]);
    expect(await open().getItems()).toEqual([compaction, user('c')]);
  });
});

it('can be listed and opened like any other session', async () => {
  const store = new InMemorySession();
  await new AgentsSession({ store, key }).addItems([user('Hi'), answered('1', 'x', 'y')]);
  const { state } = await openSession(store, key);
  expect(state.userId).toBe('alice');
  expect(state.context.map(({ role }) => role)).toEqual(['user', 'assistant']);
});

it('refuses a session that another agent has written, and leaves it alone', async () => {
  const store = new InMemorySession();
  const session = await openSession(store, key);
  session.state.contextMutable().push(userMessage('Hi'));
  await session.commit();
  const ours = new AgentsSession({ store, key });
  await expect(ours.getItems()).rejects.toBeInstanceOf(SessionStoreError);
  await expect(ours.popItem()).rejects.toThrow('Give each agent its own key');
  expect((await store.load(key))?.version).toBe(1);
});

it('gives up when others win every time', async () => {
  const store = new InMemorySession();
  store.commit = async () => {
    throw new SessionConflictError({ sessionKey: 'k', expected: 'token', actualVersion: 2 });
  };
  const session = new AgentsSession({ store, key });
  await expect(session.addItems([user('Hi')])).rejects.toBeInstanceOf(SessionConflictError);
});

it('reads nothing in order to add, as long as it is alone', async () => {
  const store = new InMemorySession();
  let loads = 0;
  const { load } = store;
  store.load = (at) => {
    loads++;
    return load.call(store, at);
  };
  const session = new AgentsSession({ store, key });
  for (let index = 0; index < 5; index++) await session.addItems([user(`${index}`)]);
  expect(loads).toBe(1);
});

it('is every kind of session that the SDK asks for', () => {
  const session: SessionHistoryTransactionAwareSession = new AgentsSession({
    store: new InMemorySession(),
    key,
  });
  expect(isSessionHistoryTransactionAwareSession(session)).toBe(true);
  expect(isSessionHistoryRewriteAwareSession(session)).toBe(true);
  expect(isOpenAIResponsesCompactionAwareSession(session)).toBe(true);
});

it('refuses options that do not fit', () => {
  expect(() => new AgentsSession({ store: {} as never, key })).toThrow('SessionStore');
  expect(() => new AgentsSession({ store: new InMemorySession(), key: 's-001' as never })).toThrow(
    'SessionKey.of',
  );
});

it('serves every user by the context of the run, and never shows one what another said', async () => {
  const store = new InMemorySession();
  const session = new AgentsSession({
    store,
    key: (context) => {
      const { userId } = context as { readonly userId: string };
      return SessionKey.of({ userId, sessionId: 's-001' });
    },
  });
  expect(session.acceptsRunContext).toBe(true);
  // As the runner of later versions calls it.
  const alice = { context: { userId: 'alice' } };
  const bob = { context: { userId: 'bob' } };
  await session.addItems([user('I am Alice')], alice);
  await session.addItems([user('I am Bob')], bob);
  expect(await session.getItems(undefined, alice)).toEqual([user('I am Alice')]);
  await session.clearSession(alice);
  expect(await session.getItems(undefined, alice)).toEqual([]);
  expect(await session.popItem(bob)).toEqual(user('I am Bob'));
  // Without a run there is nobody whose session it could be.
  await expect(session.getItems()).rejects.toThrow();
});

it.each([undefined, 's-001'])('names the option if `key` returns %s', async (returned) => {
  const session = new AgentsSession({ store: new InMemorySession(), key: () => returned as never });
  await expect(session.getItems()).rejects.toThrow('key: must return a SessionKey');
});

it('reads the last items of a long session alone', async () => {
  const store = new JsonSession({ directory });
  await new AgentsSession({ store, key }).addItems(
    Array.from({ length: 10_000 }, (_, at) => user(`Item ${at}`)),
  );
  const loads = vi.spyOn(store, 'load');
  const session = new AgentsSession({ store, key });
  const last = Array.from({ length: 10 }, (_, at) => user(`Item ${9_990 + at}`));
  expect(await session.getItems(10)).toEqual(last);
  const read = await Promise.all(loads.mock.settledResults.map(({ value }) => value?.messages.length));
  expect(read).toEqual([10]);
  await session.addItems([user('One more')]);
  expect(await session.getItems()).toHaveLength(10_001);
});
