import assert from 'node:assert/strict';
import { SessionKey, type SessionStore } from '@x/core';
import { takeTurn, thisProcess } from '@x/core/internal';
import { operationId } from '@x/core/store';
import { claimOf, takeLease } from '../../../packages/testkit/src/take-lease.js';

const HOUR = 3_600_000;

/**
 * Checks that leases do not depend on wall clocks. If the clock of a process is an hour ahead or behind, the process does not take over
 * leases of living processes, keeps its own leases, and does not lock sessions for longer after its end.
 *
 * @param first A store.
 * @param second Another store on the same data, for the process with the wrong clock.
 */
export async function checkWrongClocks(first: SessionStore, second: SessionStore): Promise<void> {
  for (const offset of [HOUR, -HOUR]) {
    const keyOf = (id: string) => SessionKey.of(`${id}${offset > 0 ? 'ahead' : 'behind'}`);
    const key = keyOf('held');
    const change = { operation: operationId(), expected: undefined, head: {}, keep: 0, append: [] };
    const held = await takeTurn(first, key);
    const own = await atOffset(offset, async () => {
      await assert.rejects(takeTurn(second, key, { turns: 'reject' }), { code: 'lease_unavailable' });
      // The wrong clock must not count as an hour without a heartbeat.
      await second.leases?.processes.beat({ id: 'ended', ttlMs: 50 }, []);
      await takeLease(second, keyOf('ended'), { claim: { ...claimOf('ended'), ttlMs: 50 } });
      await takeLease(second, keyOf('here'), {
        claim: { ...claimOf('here'), ...thisProcess(), started: '1' },
      });
      return takeTurn(second, keyOf('own'));
    });
    await first.commit(key, { ...change, fence: held.fence });
    await assert.rejects(takeTurn(first, keyOf('own'), { turns: 'reject' }), { code: 'lease_unavailable' });
    await second.commit(keyOf('own'), { ...change, operation: operationId(), fence: own.fence });
    // Taking over these leases must not take an hour.
    for (const id of ['ended', 'here'])
      await (await takeTurn(first, keyOf(id), { timeoutMs: HOUR / 2 })).release();
    await held.release();
    await own.release();
  }
}

/** Runs a function while the clock of this process is wrong by `offset` milliseconds. */
async function atOffset<Value>(offset: number, run: () => Promise<Value>): Promise<Value> {
  const { now } = Date;
  Date.now = () => now() + offset;
  try {
    return await run();
  } finally {
    Date.now = now;
  }
}
