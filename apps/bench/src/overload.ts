import { setTimeout as sleep } from 'node:timers/promises';
import { defineTool, type Model, RuntimeContext, XError } from '@x/core';
import { HarnessAgent } from '@x/harness';
import * as z from 'zod';
import { withTemporaryFolder } from '../../../tooling/temporary-folder.js';
import { storeKinds, withStore } from './sessions-stores.js';
import { quantile, round } from './statistics.js';

/** Response time of the model in milliseconds. Waiting for it causes no load. */
const MODEL_MS = 300;
/** Number of concurrent calls while the capacity is measured. */
const CLOSED = 500;
const FACTORS = [0.5, 1, 1.5, 2, 4] as const;
/** Numbers of calls that arrive at once. */
const BURSTS = [300, 1_500, 5_000] as const;
const USERS = 100;

/** Numbers of calls by outcome: `done`, or the code of the error. */
type Ends = Record<string, number>;

/**
 * Sends calls to an agent on every store, at rates below and above its capacity, and in bursts. An overloaded server must reject excess
 * calls and complete the rest: goodput at twice the capacity should be 90 % of the peak.
 */
export async function benchOverload({
  store,
  seconds = '30',
}: {
  readonly store?: string | undefined;
  readonly seconds?: string | undefined;
}): Promise<void> {
  const names = Object.keys(storeKinds).filter((name) => store === undefined || store === name);
  const windowMs = Number(seconds) * 1_000;
  if (names.length === 0 || !(windowMs >= 1_000)) {
    throw new RangeError(
      `--store must be one of ${Object.keys(storeKinds).join(', ')}, and --seconds from 1 on.`,
    );
  }
  const rows: Record<string, object> = {};
  for (const name of names) {
    const capacity = await onFreshAgent(name, (call) => closedLoop(call, windowMs));
    for (const factor of FACTORS) {
      const offered = capacity * factor;
      const row = await onFreshAgent(name, (call) => openLoop(call, offered, windowMs));
      rows[`${name}, ${factor} of capacity`] = { 'offered a second': round(offered, 1), ...row };
      console.log(name, factor, JSON.stringify(row));
    }
    for (const count of BURSTS) {
      const ends = await onFreshAgent(name, (call) => endsOf(Array.from({ length: count }, () => call())));
      rows[`${name}, ${count} at once`] = ends;
      console.log(name, `${count} at once`, JSON.stringify(ends));
    }
  }
  console.table(rows);
}

/** Provides an agent with default settings on a new store: `call` makes a call to a new session. */
function onFreshAgent<T>(name: string, use: (call: () => Promise<unknown>) => Promise<T>): Promise<T> {
  const kind = storeKinds[name];
  if (kind === undefined) throw new RangeError(`There is no store ${name}.`);
  return withTemporaryFolder((folder) =>
    withStore(kind, async ({ store, workspace = folder }) => {
      const look = defineTool({
        name: 'look',
        description: 'Looks',
        readOnly: true,
        input: z.object({}),
        execute: () => 'row '.repeat(100),
      });
      const agent = HarnessAgent.builder()
        .model(slowModel)
        .tools(look)
        .workspace(workspace)
        .session(store)
        .build();
      let calls = 0;
      try {
        return await use(async () => {
          const call = calls++;
          const context = RuntimeContext.of({ userId: `u${call % USERS}`, sessionId: `s${call}` });
          return agent.call('Look, and tell me', context, { id: `c${call}` });
        });
      } finally {
        await agent.close();
      }
    }),
  );
}

/** A model that calls a tool, then answers. */
const slowModel: Model = {
  id: 'slow',
  async generate({ messages }) {
    await sleep(MODEL_MS);
    if (messages.at(-1)?.role === 'tool')
      return { content: [{ type: 'text', text: 'word '.repeat(100) }], finishReason: 'stop' };
    return {
      content: [{ type: 'tool_use', id: `call-${messages.length}`, name: 'look', input: {} }],
      finishReason: 'tool-calls',
    };
  },
};

/** Returns the calls per second with a fixed number of concurrent calls that the agent can handle. */
async function closedLoop(call: () => Promise<unknown>, windowMs: number): Promise<number> {
  let done = 0;
  const startedAt = performance.now();
  const isOver = () => performance.now() - startedAt > windowMs;
  const client = async () => {
    while (!isOver()) {
      await call();
      done++;
    }
  };
  await Promise.all(Array.from({ length: CLOSED }, client));
  return (1_000 * done) / (performance.now() - startedAt);
}

/**
 * Starts calls at a fixed rate, even while earlier ones run. Goodput is the number of completed calls divided by the time until all have
 * ended.
 */
async function openLoop(call: () => Promise<unknown>, rate: number, windowMs: number): Promise<object> {
  const calls: Promise<unknown>[] = [];
  const tookMs: number[] = [];
  const startedAt = performance.now();
  const now = () => performance.now() - startedAt;
  const offer = async () => {
    const cameAt = now();
    await call();
    tookMs.push(now() - cameAt);
  };
  while (now() < windowMs) {
    while (calls.length < (now() / 1_000) * rate) {
      const call = offer();
      // The call may be rejected before its result is awaited.
      call.catch(() => {});
      calls.push(call);
    }
    await sleep(5);
  }
  const ends = await endsOf(calls);
  const goodput = round((1_000 * tookMs.length) / now(), 1);
  return { 'goodput a second': goodput, 'ms, 95 %': Math.round(quantile(tookMs, 0.95)), ...ends };
}

async function endsOf(calls: readonly Promise<unknown>[]): Promise<Ends> {
  const ends: Ends = {};
  for (const end of await Promise.allSettled(calls)) {
    const error = end.status === 'rejected' ? end.reason : undefined;
    const name = error === undefined ? 'done' : XError.isInstance(error) ? error.code : String(error);
    ends[name] = (ends[name] ?? 0) + 1;
  }
  return ends;
}
