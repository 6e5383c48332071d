import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SessionKey, type SessionStore } from '../../../src/index.js';
import { takeTurn, thisProcess } from '../../../src/internal.js';
import { LocalWorkspace, WorkspaceSession } from '../../../src/node.js';
import { printed, runChild } from '../../children/run-child.js';
import { commitAt } from '../../commit-at.js';
import { ManualClock } from '../../manual-clock.js';
import { numbered } from '../../numbered.js';
import { takeLease } from '../../take-lease.js';
import { temporaryDirectory } from '../../temporary-directory.js';
import { thrownBy } from '../../thrown-by.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });

const open = (directory: string) => new WorkspaceSession(new LocalWorkspace(directory));
const leaseFile = 'users/u/context/s/lease.json';

describe('leases of sessions in files', () => {
  async function setUp() {
    const directory = await temporaryDirectory();
    return { directory, first: open(directory), second: open(directory) };
  }
  const commit = (store: SessionStore, version: number, fence: number | undefined) =>
    commitAt(store, key, { expectedVersion: version, head: {}, keep: 0, append: numbered(1), fence });

  test('are taken, and sessions listed, beside files of other programs', async () => {
    const { directory, first } = await setUp();
    await commit(first, 0, undefined);
    for (const folder of ['processes', 'users', 'users/u', 'users/u/context', 'users/u/context/s']) {
      await mkdir(join(directory, folder), { recursive: true });
      await writeFile(join(directory, folder, '.DS_Store'), 'Bud1');
    }
    const turn = await takeTurn(first, key);
    const listed: string[] = [];
    for await (const found of first.list()) listed.push(`${found.key}`);
    expect(listed).toEqual([`${key}`]);
    await turn.release();
  });

  test('stay those of a living process beside one whose clock is days ahead', async () => {
    const { first, second } = await setUp();
    const turn = await takeTurn(first, key);
    const { process = '' } = (await first.leases.find(key)) ?? {};
    const { now } = Date;
    Date.now = () => now() + 7 * 86_400_000;
    await second.leases.processes.beat({ id: 'ahead', ttlMs: 50 }, []).finally(() => {
      Date.now = now;
    });
    expect(await second.leases.processes.look(process)).toBeDefined();
    await turn.release();
  });

  test('leave nothing behind when released, and outlive commits', async () => {
    const { directory, first, second } = await setUp();
    await (await takeLease(first, key))?.release();
    expect(await readdir(join(directory, 'users/u'), { recursive: true }).catch(() => [])).not.toContain('s');
    const held = await takeLease(first, key);
    await commit(first, 0, held?.fence);
    await commit(first, 1, held?.fence);
    expect(await takeLease(second, key)).toBeUndefined();
    await held?.release();
    await first.delete(key);
    const left = await readdir(directory, { recursive: true });
    expect(left.filter((name) => name.includes('lease') || name.endsWith('/s'))).toEqual([]);
  });

  test('that cannot be read are granted anew, and what was written under them is refused', async () => {
    const { directory, first, second } = await setUp();
    const old = await takeLease(first, key);
    await writeFile(join(directory, leaseFile), '{"fence":');
    expect(await thrownBy(commit(first, 0, old?.fence))).toMatchObject({ code: 'lease_lost' });
    expect(await takeLease(second, key)).toBeDefined();
  });

  test('end with their process, at once, and however its clock was set', async () => {
    const { directory, second } = await setUp();
    const child = runChild('hold-lease', directory);
    await printed(child, 1);
    expect(await thrownBy(takeTurn(second, key, { turns: 'reject' }))).toMatchObject({
      code: 'lease_unavailable',
    });
    // Files of the future, as of a process an hour ahead.
    const future = new Date(Date.now() + 3_600_000);
    for (const name of await readdir(directory, { recursive: true }))
      if (/\.(json|lease)$/.test(name)) await utimes(join(directory, name), future, future);
    child.process.kill('SIGKILL');
    await child.ended;
    const turn = await takeTurn(second, key, { turns: 'reject' });
    expect(turn.fence).toBeGreaterThan(Number(child.lines[0]));
    await turn.release();
  });

  test('of a process that no host here can see end when it does not beat for its time', async () => {
    const { first, second } = await setUp();
    const clock = new ManualClock();
    const beat = () => first.leases.processes.beat({ id: 'elsewhere', ttlMs: 5_000 }, []);
    await beat();
    const dead = await takeLease(first, key, { process: 'elsewhere' });
    const waiting = takeTurn(second, key, { clock, timeoutMs: 600_000 });
    const passed = async (ms: number) => {
      // Files answer when they will: each look is waited for.
      for (let at = 0; at < ms; at += 250) {
        await clock.pass(250);
        await second.leases.find(key);
        await second.leases.processes.look('elsewhere');
      }
    };
    for (let round = 0; round < 5; round++) {
      await passed(2_000);
      await beat();
    }
    expect((await first.leases.find(key))?.fence).toBe(dead?.fence);
    let turn: Awaited<typeof waiting> | undefined;
    void waiting.then((taken) => {
      turn = taken;
    });
    while (turn === undefined) await passed(250);
    expect(turn.fence).toBeGreaterThan(dead?.fence ?? Number.NaN);
    await turn.release();
  });

  test('a process removes what dead ones have left, and nothing of the living', async () => {
    const { directory, first, second } = await setUp();
    const lay = async (id: string, beat: object, age = 0) => {
      await mkdir(join(directory, 'processes', id), { recursive: true });
      const file = join(directory, 'processes', id, 'beat.json');
      await writeFile(file, JSON.stringify({ beats: 1, ...beat }));
      const time = new Date(Date.now() - age);
      await utimes(file, time, time);
    };
    const here = thisProcess();
    await lay('ended', { ...here, started: '1' });
    await lay('elsewhere', { ...here, host: 'elsewhere' });
    await lay('long-gone', { ...here, host: 'elsewhere' }, 2 * 86_400_000);
    const living = await takeTurn(first, key);
    const turn = await takeTurn(second, SessionKey.of('other'));
    const left = await readdir(join(directory, 'processes'));
    expect(left).toHaveLength(3);
    expect(left).toContain('elsewhere');
    await living.certain();
    await living.release();
    await turn.release();
  });
});
