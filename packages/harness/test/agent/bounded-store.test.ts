import { InMemorySession, RuntimeContext, type SessionStore } from '@x/core';
import { wrapStore } from '@x/core/store';
import { ScriptedModel } from '@x/testkit';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { collect, scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'u', sessionId: 's' });
const never = new Promise<never>(() => {});

function agentOn(session: SessionStore, model = new ScriptedModel([{ text: 'one' }])): HarnessAgent {
  return HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .session(session)
    .limits({ outageMs: 30_000 })
    .build();
}

/** The store with one method that hangs, or answers what it may not. */
function odd(store: SessionStore, method: string, answer: () => Promise<never>): SessionStore {
  const [, operation] = /^leases\.(.*)$/.exec(method) ?? [];
  const leases = operation && store.leases && { ...store.leases, [operation]: answer };
  return wrapStore(store, { reach: 'host', ...(leases ? { leases } : { [method]: answer }) });
}

/** The store with one method that hangs. */
function hanging(store: SessionStore, name: string, hang: () => Promise<never>): SessionStore {
  const step = () => ({ [Symbol.asyncIterator]: () => ({ next: hang }) });
  return odd(store, name, name === 'list' ? (step as never) : hang);
}

const UNAVAILABLE = { error: { code: 'session_unavailable', outcome: 'none' } };
const UNKNOWN = { error: { code: 'session_unavailable', outcome: 'unknown' } };
const call = (agent: HarnessAgent) => agent.call('Hi', context);
const state = (agent: HarnessAgent) => agent.state(context);
const update = (agent: HarnessAgent) =>
  agent.updateState(context, ({ extensions }) => {
    extensions.a = {};
  });
const interrupt = (agent: HarnessAgent) => agent.interruptAnywhere(context);
const erase = (agent: HarnessAgent) => agent.eraseUser({ userId: 'u' });
const read = (agent: HarnessAgent) => collect(agent.exportUser({ userId: 'u' }) as never);

describe('a session store that does not answer', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  it.each([
    ['load', call, UNAVAILABLE],
    ['load', state, UNAVAILABLE],
    ['load', update, UNAVAILABLE],
    ['load', read, UNAVAILABLE],
    ['commit', call, UNKNOWN],
    ['commit', update, UNKNOWN],
    ['leases.take', call, UNAVAILABLE],
    ['leases.release', call, { value: { stopReason: 'completed' } }],
    ['leases.find', interrupt, UNAVAILABLE],
    ['list', erase, UNAVAILABLE],
    ['list', read, UNAVAILABLE],
    ['delete', erase, UNKNOWN],
  ] as const)('to %s ends %o within the limit, and the session opens again', async (method, act, outcome) => {
    const store = new InMemorySession();
    await agentOn(store).call('Before', context);
    let asked = 0;
    const hang = () => {
      asked++;
      return never;
    };
    let ended: object | undefined;
    const settle = (found: object) => {
      ended = found;
    };
    act(agentOn(hanging(store, method, hang))).then(
      (value) => settle({ value }),
      (error) => settle({ error }),
    );
    for (let seen = 0; ended === undefined; ) {
      while (asked === seen && ended === undefined) await new Promise((resolve) => setImmediate(resolve));
      seen = asked;
      expect(asked).toBeLessThan(6);
      await vi.advanceTimersByTimeAsync(30_000);
    }
    expect(ended).toMatchObject(outcome);
    expect(await agentOn(store).call('Go on', context)).toMatchObject({ text: 'one' });
  });
});

describe('a session store that answers what it may not', () => {
  const garbage = [null, Number.NaN, {}, 'yes', -1];
  const lease = { token: 't', process: 'p', host: 'h', ttlMs: 5_000, fence: 1 };
  it.each([
    ['load', call, 'none', [...garbage, { token: 't', version: 1, head: {} }]],
    ['commit', call, 'unknown', [...garbage, undefined, 0]],
    ['leases.take', call, 'none', [null, Number.NaN, {}, 'yes']],
    [
      'leases.find',
      interrupt,
      'none',
      [...garbage, { ...lease, fence: null }, { ...lease, token: undefined }],
    ],
    ['delete', erase, 'unknown', [null, undefined]],
    ['list', erase, 'none', [null, {}]],
  ] as const)(
    'to %s fails the call with the method and the answer',
    async (method, act, outcome, answers) => {
      for (const answer of answers) {
        const store = new InMemorySession();
        await agentOn(store).call('Before', context);
        const given =
          method === 'list'
            ? async function* () {
                yield answer;
              }
            : async () => answer;
        const agent = agentOn(odd(store, method, given as never));
        await expect(act(agent)).rejects.toMatchObject({
          code: 'session_store_invalid',
          message: expect.stringMatching(`^The session store's ${method} returned .+ It must return `),
          outcome,
        });
      }
    },
  );
});
