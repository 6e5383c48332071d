import { appendFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { SessionKey, type SessionStore, type Workspace } from '../../../src/index.js';
import { LocalWorkspace, WorkspaceSession } from '../../../src/node.js';
import { commitAt } from '../../commit-at.js';
import { CountingWorkspace } from '../../counting-workspace.js';
import { numbered } from '../../numbered.js';
import { temporaryDirectory } from '../../temporary-directory.js';
import { thrownBy } from '../../thrown-by.js';

// Disks that are busy take their time.
vi.setConfig({ testTimeout: 300_000 });

const key = SessionKey.of({ userId: 'Alice', agentId: 'a', sessionId: 's' });
const DIRECTORY = 'users/%41lice/agents/a/context/s';

async function setUp() {
  const root = await temporaryDirectory();
  const workspace = new LocalWorkspace(root);
  return { root, workspace, directory: join(root, DIRECTORY), store: new WorkspaceSession(workspace) };
}

const versions = new WeakMap<SessionStore, number>();

async function commit(store: SessionStore, keep: number, append: number, prefix: string): Promise<number> {
  const change = { head: {}, keep, append: numbered(append, prefix) };
  const version = await commitAt(store, key, { expectedVersion: versions.get(store) ?? 'latest', ...change });
  versions.set(store, version);
  return version;
}

async function ids(store: SessionStore): Promise<string[] | undefined> {
  return (await store.load(key))?.messages.map(({ id }) => id);
}

async function segmentsIn(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => !name.startsWith('head'));
}

async function readHead(directory: string) {
  return JSON.parse(await readFile(join(directory, 'head.json'), 'utf8'));
}

describe('files', () => {
  test('are a head and one message a line, in the place of the key', async () => {
    const { store, directory } = await setUp();
    await commitAt(store, key, { expectedVersion: 0, head: { a: 1 }, keep: 0, append: numbered(2) });
    const [file = ''] = await segmentsIn(directory);
    const text = numbered(2)
      .map((message) => `${JSON.stringify(message)}\n`)
      .join('');
    expect(await readFile(join(directory, file), 'utf8')).toBe(text);
    expect(await readHead(directory)).toEqual({
      format: 1,
      incarnation: expect.stringMatching(/^[0-9a-f]{16}$/),
      operations: [expect.stringMatching(/^[\w-]{16}$/)],
      key: { userId: 'Alice', agentId: 'a', sessionId: 's' },
      version: 1,
      head: { a: 1 },
      segments: [{ file, bytes: text.length, messages: 2 }],
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
    });
  });

  test('grow by what a turn adds', async () => {
    const { store, directory } = await setUp();
    for (let turn = 0; turn < 5; turn++) await commit(store, turn, 1, `t${turn}-`);
    expect(await segmentsIn(directory)).toHaveLength(1);
    expect(await ids(store)).toEqual(['t0-0', 't1-0', 't2-0', 't3-0', 't4-0']);
  });

  test('of what is no longer kept are removed, never rewritten', async () => {
    const { store, directory } = await setUp();
    await commit(store, 0, 10, 'a');
    const [first = ''] = await segmentsIn(directory);
    const before = await readFile(join(directory, first), 'utf8');
    await commit(store, 4, 2, 'b');
    expect(await readFile(join(directory, first), 'utf8')).toBe(before);
    expect(await segmentsIn(directory)).toHaveLength(2);
    expect(await ids(store)).toEqual(['a0', 'a1', 'a2', 'a3', 'b0', 'b1']);
    await commit(store, 0, 1, 'c');
    expect(await segmentsIn(directory)).toHaveLength(1);
    expect(await segmentsIn(directory)).not.toContain(first);
    await commit(store, 0, 0, '');
    expect(await segmentsIn(directory)).toEqual([]);
  });

  test('are merged when there are many', async () => {
    const { store, directory } = await setUp();
    const expected: string[] = [];
    await commit(store, 0, 2, 'first-');
    expected.push('first-0', 'first-1');
    for (let round = 0; round < 70; round++) {
      // Cutting the last message off makes the next one begin a segment.
      await commit(store, expected.length - 1, 2, `r${round}-`);
      expected.splice(-1, 1, `r${round}-0`, `r${round}-1`);
      expect((await segmentsIn(directory)).length).toBeLessThanOrEqual(33);
    }
    expect(await ids(store)).toEqual(expected);
  });

  test('are gone when a session is deleted', async () => {
    const { store, root, directory } = await setUp();
    await commit(store, 0, 3, 'a');
    expect(await store.delete(key)).toBe(true);
    await expect(stat(directory)).rejects.toThrow('ENOENT');
    expect(await readdir(root)).toEqual(['.locks', 'users']);
  });
});

describe('cost', () => {
  test('of a turn is what the turn adds, however long the conversation is', async () => {
    const { workspace } = await setUp();
    const counting = new CountingWorkspace(workspace);
    const store = new WorkspaceSession(counting);
    const costs: number[] = [];
    for (const size of [100, 10_000]) {
      await commit(store, 0, size, 'a');
      counting.bytesRead = 0;
      counting.bytesWritten = 0;
      await commit(store, size, 2, 'b');
      costs.push(counting.bytesRead + counting.bytesWritten);
    }
    // But for the digits of the counts in the manifest, and the names of the last eight commits.
    expect(Math.abs((costs[1] ?? 0) - (costs[0] ?? 0))).toBeLessThan(400);
    expect(costs[0]).toBeLessThan(1500);
  });

  test('of keeping nothing is independent of what there was', async () => {
    const { workspace } = await setUp();
    const counting = new CountingWorkspace(workspace);
    const store = new WorkspaceSession(counting);
    await commit(store, 0, 10_000, 'a');
    counting.bytesRead = 0;
    counting.bytesWritten = 0;
    await commit(store, 0, 2, 'b');
    expect(counting.bytesRead + counting.bytesWritten).toBeLessThan(1500);
  });
});

describe('what a crash leaves', () => {
  test.each(['garbage', '{"id":"torn","role":"us', '\n', `${JSON.stringify(numbered(1, 'late')[0])}\n`])(
    'behind the last commit is ignored, and not built upon: %j',
    async (garbage) => {
      const { store, directory } = await setUp();
      await commit(store, 0, 2, 'a');
      const [file = ''] = await segmentsIn(directory);
      await appendFile(join(directory, file), garbage);
      expect(await ids(store)).toEqual(['a0', 'a1']);
      await commit(store, 2, 1, 'b');
      await commit(store, 3, 1, 'c');
      expect(await ids(store)).toEqual(['a0', 'a1', 'b0', 'c0']);
      expect(await segmentsIn(directory)).toHaveLength(2);
    },
  );

  test('of segments and temporary files is no session and is cleared away', async () => {
    const { store, directory } = await setUp();
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'segment-0000000000000000.jsonl'), '{}\n');
    await writeFile(join(directory, `.x-${'0'.repeat(24)}.tmp`), '{');
    expect(await store.load(key)).toBeUndefined();
    await commit(store, 0, 1, 'a');
    expect(await ids(store)).toEqual(['a0']);
    expect(await segmentsIn(directory)).not.toContain('segment-0000000000000000.jsonl');
    expect(await store.delete(key)).toBe(true);
    await expect(stat(directory)).rejects.toThrow('ENOENT');
  });

  test('of a deletion is no session, and can be deleted', async () => {
    const { store, directory } = await setUp();
    await commit(store, 0, 1, 'a');
    await rm(join(directory, 'head.json'));
    expect(await store.load(key)).toBeUndefined();
    for await (const info of store.list()) expect(info).toBeUndefined();
    expect(await store.delete(key)).toBe(false);
    await expect(stat(directory)).rejects.toThrow('ENOENT');
  });
});

describe('damage', () => {
  const damages: readonly (readonly [string, (directory: string, segment: string) => Promise<unknown>])[] = [
    ['an empty head', (directory) => truncate(join(directory, 'head.json'), 0)],
    ['a cut head', (directory) => truncate(join(directory, 'head.json'), 40)],
    ['a head of another kind', (directory) => writeFile(join(directory, 'head.json'), '{"format":1}')],
    [
      'a head of another session',
      async (directory) => {
        const head = { ...(await readHead(directory)), key: { sessionId: 'other' } };
        await writeFile(join(directory, 'head.json'), JSON.stringify(head));
      },
    ],
    [
      'a head that names a file elsewhere',
      async (directory) => {
        const head = await readHead(directory);
        head.segments[0].file = '../x/segment-1.jsonl';
        await writeFile(join(directory, 'head.json'), JSON.stringify(head));
      },
    ],
    ['a missing segment', (directory, segment) => rm(join(directory, segment))],
    ['a short segment', (directory, segment) => truncate(join(directory, segment), 50)],
  ];

  test.each(damages)('%s is reported, and nothing is written over it', async (_, damage) => {
    const { store, directory } = await setUp();
    await commit(store, 0, 3, 'a');
    const [segment = ''] = await segmentsIn(directory);
    await damage(directory, segment);
    const before = await snapshot(directory);

    for (const operation of [() => store.load(key), () => commit(store, 3, 1, 'b')]) {
      const error = await thrownBy(operation());
      expect(error).toMatchObject({ code: 'session_corrupt', sessionKey: key.toString() });
      expect(error.message).toContain(DIRECTORY);
      expect(error.message).toContain('delete the session');
    }
    expect(await snapshot(directory)).toEqual(before);
    await store.delete(key);
    expect(await store.load(key)).toBeUndefined();
  });

  test.each([
    ['a line more', (text: string) => text.replace(',', '\n')],
    ['a line less', (text: string) => text.replace('\n', ' ')],
  ])('a segment with %s is reported', async (_, change) => {
    const { store, directory } = await setUp();
    await commit(store, 0, 3, 'a');
    const [segment = ''] = await segmentsIn(directory);
    const file = join(directory, segment);
    await writeFile(file, change(await readFile(file, 'utf8')));
    const error = await thrownBy(store.load(key));
    expect(error).toMatchObject({ code: 'session_corrupt' });
    expect(error.message).toContain(segment);
  });

  test.each([
    ['what is no JSON', (text: string) => text.replace('{', '['), 'text'],
    ['what is no message', (text: string) => text.replace('"role"', '"ROLE"'), 'ROLE'],
    ['a block of a later release', (text: string) => text.replace('"type":"text"', '"type":"holo"'), 'holo'],
  ])('of one message leaves a placeholder with its data in the session: %s', async (_, change, kept) => {
    const { store, directory } = await setUp();
    await commit(store, 0, 3, 'a');
    const [segment = ''] = await segmentsIn(directory);
    const file = join(directory, segment);
    await writeFile(file, change(await readFile(file, 'utf8')));
    const stored = await store.load(key);
    expect(stored?.messages.map(({ content }) => content.map(({ type }) => type))).toEqual([
      ['opaque'],
      ['text'],
      ['text'],
    ]);
    expect(JSON.stringify(stored?.messages[0])).toContain(kept);
    await commit(store, 3, 1, 'b');
    expect((await store.load(key))?.messages).toHaveLength(4);
  });

  test('of one session does not keep the others from being listed', async () => {
    const { store, directory } = await setUp();
    await commit(store, 0, 1, 'a');
    await commitAt(store, SessionKey.of('x'), { expectedVersion: 0, head: {}, keep: 0, append: [] });
    await truncate(join(directory, 'head.json'), 3);
    const found: string[] = [];
    const listing = (async () => {
      for await (const info of store.list()) found.push(info.key.toString());
    })();
    expect(await thrownBy(listing)).toMatchObject({ code: 'session_corrupt' });
    expect(found).toEqual([SessionKey.of('x').toString()]);
  });
});

/** The names and contents of files. */
async function snapshot(directory: string): Promise<Record<string, string>> {
  const names = await readdir(directory);
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
  return Object.fromEntries(names.map((name, index) => [name, texts[index] ?? '']));
}

describe('workspaces', () => {
  test('without locks are refused when the store is made', async () => {
    const { workspace } = await setUp();
    const lockless: Workspace = Object.create(workspace, { lock: { value: undefined } });
    expect(() => new WorkspaceSession(lockless)).toThrowError(/needs a workspace with locks/);
    expect(() => new WorkspaceSession(undefined as never)).toThrowError(/needs a workspace with locks/);
  });

  test('say how far the sessions reach', async () => {
    const { workspace, store } = await setUp();
    expect(store.reach).toBe('host');
    const shared: Workspace = Object.create(workspace, {
      reach: { value: 'cluster' },
      lock: { value: async () => {} },
    });
    expect(new WorkspaceSession(shared).reach).toBe('cluster');
  });

  test('that cannot be written fail the commit and are never taken for empty', async () => {
    const { root, store } = await setUp();
    await commit(store, 0, 2, 'a');
    const readOnly = new WorkspaceSession(new LocalWorkspace(root, { readOnly: true }));
    expect(await ids(readOnly)).toEqual(['a0', 'a1']);
    expect(await thrownBy(commit(readOnly, 2, 1, 'b'))).toMatchObject({
      code: 'session_unavailable',
      cause: expect.objectContaining({ code: 'read_only' }),
    });
    await rm(join(root, 'users'), { recursive: true });
    await writeFile(join(root, 'users'), 'a file in the place of the directory');
    expect(await thrownBy(commit(store, 0, 1, 'b'))).toMatchObject({ code: 'session_unavailable' });
  });
});

test('a load is not disturbed by commits that replace everything', async () => {
  const { store, workspace } = await setUp();
  const reader = new WorkspaceSession(workspace);
  await commit(store, 0, 20, 'v0-');
  let done = false;
  const writing = (async () => {
    try {
      for (let version = 1; version <= 40; version++) await commit(store, 0, 20, `v${version}-`);
    } finally {
      done = true;
    }
  })();
  let loads = 0;
  while (!done) {
    const stored = await reader.load(key);
    const expected = numbered(20, `v${(stored?.version ?? 0) - 1}-`);
    expect(stored?.messages).toEqual(expected);
    loads++;
  }
  await writing;
  expect(loads).toBeGreaterThan(1);
});
