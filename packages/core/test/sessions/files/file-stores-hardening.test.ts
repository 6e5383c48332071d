import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmdirSync } from 'node:fs';
import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  openSession,
  SessionKey,
  type SessionStore,
  userMessage,
  type Workspace,
  WorkspaceError,
} from '../../../src/index.js';
import { LocalWorkspace, WorkspaceSession } from '../../../src/node.js';
import { commitAt } from '../../commit-at.js';
import { CountingWorkspace } from '../../counting-workspace.js';
import { numbered } from '../../numbered.js';
import { takeLease } from '../../take-lease.js';
import { temporaryDirectory } from '../../temporary-directory.js';
import { thrownBy } from '../../thrown-by.js';

const key = SessionKey.of({ userId: 'u', sessionId: 's' });

/** Mounts a disk of 256 KiB; whether this process may. */
function mountTinyDisk(directory: string): boolean {
  const mount = ['-t', 'tmpfs', '-o', 'size=256k,nr_inodes=300', 'tmpfs', directory];
  return spawnSync('mount', mount, { stdio: 'ignore' }).status === 0;
}

function unmount(directory: string): void {
  spawnSync('umount', ['-l', directory]);
  rmdirSync(directory);
}

/** Whether there can be a disk that is really full; {@link FullWorkspace} stands for it elsewhere. */
function canMount(): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'x-tiny-disk-'));
  const mounted = mountTinyDisk(directory);
  unmount(directory);
  return mounted;
}

/** A workspace whose disk is full from a given number of written bytes on; what fits of an append is written. */
class FullWorkspace extends CountingWorkspace {
  readonly #workspace: Workspace;
  #room: number;

  constructor(workspace: Workspace, room: number) {
    super(workspace);
    this.#workspace = workspace;
    this.#room = room;
  }

  override async write(...parameters: Parameters<Workspace['write']>) {
    this.#take(parameters[0], parameters[1]);
    return super.write(...parameters);
  }

  override async append(path: string, data: string | Uint8Array) {
    const room = this.#room;
    try {
      this.#take(path, data);
    } catch (error) {
      await this.#workspace.append(path, Buffer.from(data as Uint8Array).subarray(0, room));
      throw error;
    }
    return super.append(path, data);
  }

  #take(path: string, data: string | Uint8Array): void {
    const room = this.#room - Buffer.byteLength(data as Uint8Array);
    if (room < 0) {
      const cause = { code: 'ENOSPC' };
      throw new WorkspaceError('workspace_io', path, 'The file cannot be written: the disk is full.', {
        cause,
      });
    }
    this.#room = room;
  }
}

/** Adds turns until the disk is full, and finds every turn that was acknowledged. */
async function assertSurvivesFullDisk(store: SessionStore, lookAgain: SessionStore): Promise<void> {
  let acknowledged = 0;
  let failure: unknown;
  const text = 'x'.repeat(2000);
  while (failure === undefined && acknowledged < 10_000) {
    const append = [userMessage(text, { id: `m${acknowledged}` })];
    failure = await commitAt(store, key, {
      expectedVersion: acknowledged,
      head: {},
      keep: acknowledged,
      append,
    }).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure === undefined) acknowledged++;
  }
  expect(failure).toMatchObject({ code: 'session_unavailable', outcome: 'none' });
  expect((failure as Error).message).toContain('the disk is full');
  const stored = await lookAgain.load(key);
  expect(stored?.version ?? 0).toBe(acknowledged);
  expect(stored?.messages.map(({ id }) => id) ?? []).toEqual(numbered(acknowledged).map(({ id }) => id));
}

const open = (directory: string) => new WorkspaceSession(new LocalWorkspace(directory));

describe('a full disk', () => {
  test.runIf(canMount())(
    'keeps every turn that a session acknowledged, and goes on when there is room',
    async () => {
      const directory = mkdtempSync(join(tmpdir(), 'x-tiny-disk-'));
      onTestFinished(() => unmount(directory));
      expect(mountTinyDisk(directory)).toBe(true);
      const ballast = join(directory, 'ballast');
      await writeFile(ballast, Buffer.alloc(100_000));
      await assertSurvivesFullDisk(open(directory), open(directory));
      const { version = 0, messages = [] } = (await open(directory).load(key)) ?? {};
      await writeFile(ballast, '');
      const change = {
        expectedVersion: version,
        head: {},
        keep: messages.length,
        append: numbered(1, 'more'),
      };
      expect(await commitAt(open(directory), key, change)).toBe(version + 1);
      expect((await open(directory).load(key))?.messages).toEqual([...messages, ...numbered(1, 'more')]);
    },
  );

  test.runIf(canMount())('is freed by deleting a session', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'x-tiny-disk-'));
    onTestFinished(() => unmount(directory));
    expect(mountTinyDisk(directory)).toBe(true);
    const append = [userMessage('x'.repeat(50_000))];
    const change = { expectedVersion: 0, head: {}, keep: 0, append };
    await commitAt(open(directory), key, change);
    // Until no byte is left and no file can be made, a lock neither.
    const page = Buffer.alloc(4096);
    const fill = async (write: (count: number) => Promise<void>) => {
      for (let count = 0, isFull = false; !isFull; count++) {
        isFull = await write(count).then(
          () => false,
          () => true,
        );
      }
    };
    await fill(() => appendFile(join(directory, 'ballast'), page));
    await fill((count) => writeFile(join(directory, `ballast-${count}`), ''));
    const other = SessionKey.of('other');
    await expect(commitAt(open(directory), other, change)).rejects.toMatchObject({
      code: 'session_unavailable',
    });
    expect(await open(directory).delete(key)).toBe(true);
    await appendFile(join(directory, 'ballast'), page);
  });

  test.each([0, 100, 2050, 5000, 20_000, 20_100])(
    'after %d bytes keeps every turn that was acknowledged',
    async (room) => {
      const workspace = new LocalWorkspace(await temporaryDirectory());
      await assertSurvivesFullDisk(
        new WorkspaceSession(new FullWorkspace(workspace, room)),
        new WorkspaceSession(workspace),
      );
    },
  );
});

test('a disk that cannot be written is read, and commits and leases fail with the reason', async () => {
  const directory = await temporaryDirectory();
  const writable = new WorkspaceSession(new LocalWorkspace(directory));
  await commitAt(writable, key, { expectedVersion: 0, head: {}, keep: 0, append: numbered(2) });
  const store = new WorkspaceSession(new LocalWorkspace(directory, { readOnly: true }));
  expect((await store.load(key))?.messages).toEqual(numbered(2));
  for (const operation of [
    () => commitAt(store, key, { expectedVersion: 1, head: {}, keep: 2, append: [] }),
    () => store.delete(key),
    () => takeLease(store, key),
  ]) {
    const error = await thrownBy(operation());
    expect(error).toMatchObject({ code: 'session_unavailable', cause: { code: 'read_only' } });
  }
  expect(await writable.load(key)).toMatchObject({ version: 1, messages: numbered(2) });
});

test('the names of sessions differ also where case is folded', async () => {
  const directory = await temporaryDirectory();
  const store = open(directory);
  for (const name of ['Alice', 'alice', 'ALICE', 'aLICE', 'É', 'é', 'e\u0301', 'ß', 'SS', 'ss']) {
    for (const parts of [{ sessionId: name }, { userId: name, sessionId: 's' }]) {
      await commitAt(store, SessionKey.of(parts), { expectedVersion: 0, head: {}, keep: 0, append: [] });
    }
  }
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter(
    (name) => !name.startsWith('.locks'),
  );
  const folded = names.map((name) => name.normalize('NFKD').toLowerCase().toUpperCase());
  expect(new Set(folded).size).toBe(names.length);
  expect(names.length).toBeGreaterThan(20);
});

/** Counts what is asked of a workspace, by method. */
function countOperations(workspace: Workspace): {
  readonly counted: Workspace;
  readonly counts: Map<string, number>;
} {
  const counts = new Map<string, number>();
  const counted = new Proxy(workspace, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...parameters: unknown[]) => {
        counts.set(String(name), (counts.get(String(name)) ?? 0) + 1);
        return value.apply(target, parameters);
      };
    },
  });
  return { counted, counts };
}

test('however many other sessions are in the directory, a call looks at none of them', async () => {
  const operations: Record<string, number>[] = [];
  for (const others of [0, 1000]) {
    const root = await temporaryDirectory();
    const parent = join(root, 'users/u/context');
    await Promise.all(
      Array.from({ length: others }, (_, other) =>
        mkdir(join(parent, `other-${other}`), { recursive: true }),
      ),
    );
    const { counted, counts } = countOperations(new LocalWorkspace(root));
    const store = new WorkspaceSession(counted);
    for (let turn = 0; turn < 3; turn++) {
      const lease = await takeLease(store, key);
      const session = await openSession(store, key, { fence: lease?.fence });
      session.state.contextMutable().push(...numbered(2, `${turn}-`));
      await session.commit();
      await lease?.release();
    }
    operations.push(Object.fromEntries([...counts].sort()));
    // Of the directory of the session itself: for each load, and before and after each new manifest.
    expect(counts.get('list')).toBe(9);
    const manifest = (await readdir(join(parent, 's'))).find((name) => name.endsWith('-3.json')) ?? '';
    expect(JSON.parse(await readFile(join(parent, 's', manifest), 'utf8'))).toMatchObject({
      version: 3,
      segments: [{ messages: 6 }],
    });
  }
  expect(operations[1]).toEqual(operations[0]);
});
