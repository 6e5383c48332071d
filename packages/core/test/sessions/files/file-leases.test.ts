import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SessionKey, type SessionStore } from '../../../src/index.js';
import { JsonSession, LocalWorkspace, WorkspaceSession } from '../../../src/node.js';
import { printed, runChild } from '../../children/run-child.js';
import { commitAt } from '../../commit-at.js';
import { ManualClock } from '../../manual-clock.js';
import { numbered } from '../../numbered.js';
import { temporaryDirectory } from '../../temporary-directory.js';
import { thrownBy } from '../../thrown-by.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });
const ttlMs = 30_000;

const stores = [
  [
    'json',
    (directory: string, clock?: ManualClock) => new JsonSession({ directory, clock }),
    'users/u/sessions/s.lease',
  ],
  [
    'workspace',
    (directory: string, clock?: ManualClock) =>
      new WorkspaceSession(new LocalWorkspace(directory), { clock }),
    'users/u/context/s/lease.json',
  ],
] as const;

describe.each(stores)('leases of a %s session', (kind, open, leaseFile) => {
  async function setUp() {
    const directory = await temporaryDirectory();
    const clock = new ManualClock();
    return { directory, clock, first: open(directory, clock), second: open(directory, clock) };
  }
  const lease = (store: SessionStore) => store.lease?.(key, { ttlMs });
  const commit = (store: SessionStore, version: number, fence: number | undefined) =>
    commitAt(store, key, { expectedVersion: version, head: {}, keep: 0, append: numbered(1), fence });

  test('end with their time, and the next fence is larger', async () => {
    const { clock, first, second } = await setUp();
    const old = await lease(first);
    await clock.pass(ttlMs - 1);
    expect(await lease(second)).toBeUndefined();
    await old?.renew();
    await clock.pass(ttlMs - 1);
    expect(await lease(second)).toBeUndefined();
    await clock.pass(1);
    const next = await lease(second);
    expect(next?.fence).toBeGreaterThan(old?.fence ?? Number.NaN);
    expect(await thrownBy(old?.renew() ?? Promise.resolve())).toMatchObject({ code: 'lease_lost' });
    await old?.release();
    expect(await commit(second, 0, next?.fence)).toBe(1);
    expect(await thrownBy(commit(first, 1, old?.fence))).toMatchObject({ code: 'lease_lost' });
    expect((await first.load(key))?.version).toBe(1);
  });

  test('leave nothing behind when released, and outlive commits', async () => {
    const { directory, first, second } = await setUp();
    await (await lease(first))?.release();
    expect(await readdir(join(directory, 'users/u'), { recursive: true }).catch(() => [])).not.toContain('s');
    const held = await lease(first);
    await commit(first, 0, held?.fence);
    await commit(first, 1, held?.fence);
    expect(await lease(second)).toBeUndefined();
    await held?.release();
    await first.delete(key);
    const left = await readdir(directory, { recursive: true });
    expect(left.filter((name) => name.includes('lease') || name.endsWith('/s'))).toEqual([]);
  });

  test('grow also over a deletion, which ends them', async () => {
    const { first, second } = await setUp();
    const old = await lease(first);
    await commit(first, 0, old?.fence);
    await first.delete(key);
    const next = await lease(second);
    expect(next?.fence).toBeGreaterThanOrEqual(old?.fence ?? Number.NaN);
    await second.delete(key);
    expect(await thrownBy(commit(first, 0, old?.fence))).toMatchObject({ code: 'lease_lost' });
  });

  test('that cannot be read are granted anew, and what was written under them is refused', async () => {
    const { directory, first, second } = await setUp();
    const old = await lease(first);
    await writeFile(join(directory, leaseFile), '{"fence":');
    expect(await thrownBy(commit(first, 0, old?.fence))).toMatchObject({ code: 'lease_lost' });
    expect(await lease(second)).toBeDefined();
  });

  test('refuse a time that is none', async () => {
    const { first } = await setUp();
    for (const bad of [0, -1, Number.NaN]) {
      await expect(async () => first.lease(key, { ttlMs: bad })).rejects.toMatchObject({
        code: 'invalid_input',
      });
    }
  });

  test('end with their process', async () => {
    const directory = await temporaryDirectory();
    const child = runChild('hold-lease', kind, directory);
    await printed(child, 1);
    const store = open(directory);
    expect(await lease(store)).toBeUndefined();
    child.process.kill('SIGKILL');
    await child.ended;
    expect((await lease(store))?.fence).toBeGreaterThan(Number(child.lines[0]));
  });
});
