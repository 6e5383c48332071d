// What left its file is gone, what did not change is not read, and a search works while writing does not.
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { chmod, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Workspace } from '@x/core';
import { SqliteDatabase, SqliteStatement } from '@x/core/internal';
import { openBeside } from '@x/test-support';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { MemoryIndex, MemoryService, memory } from '../../src/index.js';
import { runTool, temporaryDirectory, testWorkspace, toolContext } from '../support/test-context.js';

const DAY_MS = 86_400_000;
const alice = { userId: 'alice', agentId: 'coder', sessionId: 's' };
const prefix = 'users/alice/agents/coder/';

async function openIndex(path: string): Promise<MemoryIndex> {
  const index = await MemoryIndex.open(path);
  onTestFinished(() => index.close());
  return index;
}

/** A disk of a megabyte, where the machine lets one be mounted; elsewhere one whose being full SQLite is told of. */
async function smallDisk() {
  const directory = await temporaryDirectory();
  const filler = join(directory, 'filler');
  const path = join(directory, 'index.db');
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', directory]).status === 0;
  if (mounted) {
    onTestFinished(() => void spawnSync('umount', ['-l', directory]));
    const fill = () => {
      for (const bytes of [4_096, 256, 1]) {
        try {
          for (;;) appendFileSync(filler, Buffer.alloc(bytes));
        } catch {
          // Full, but for less than that.
        }
      }
    };
    return { path, fill, free: () => rmSync(filler) };
  }
  const full = () => {
    throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
  };
  const fill = () => void vi.spyOn(SqliteDatabase.prototype, 'exec').mockImplementation(full);
  return { path, fill, free: () => void vi.restoreAllMocks() };
}

/** The bytes of an index: of its file and of the log of changes beside it. */
async function bytesOf(path: string): Promise<string> {
  const parts = await Promise.all(
    ['', '-wal'].map((end) => readFile(`${path}${end}`).catch(() => Buffer.alloc(0))),
  );
  return Buffer.concat(parts).toString('latin1');
}

/** A workspace that counts what is read of it. */
function counting<Target extends Workspace>(workspace: Target): { workspace: Target; reads: string[] } {
  const reads: string[] = [];
  const proxy = new Proxy(workspace, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...parameters: unknown[]) => {
        if (name === 'read') reads.push(String(parameters[0]));
        return value.apply(target, parameters);
      };
    },
  });
  return { workspace: proxy, reads };
}

describe('text that left its file', () => {
  it('leaves index and the bytes of the database in the same pass', async () => {
    const path = join(await temporaryDirectory(), 'index.db');
    const workspace = await testWorkspace();
    const index = await openIndex(path);
    const words = Array.from({ length: 500 }, (_, number) => `- xylophone${number} belongs to Quetzalcoatl`);
    await workspace.write(`${prefix}memory/2026-01-01.md`, words.join('\n'));
    await workspace.write('users/bob/memory/2026-01-01.md', '- stays with bob');
    await workspace.write(`${prefix}MEMORY.md`, 'my passport number is zanzibar77');
    await index.indexAllFromWorkspace(workspace, { prefix });
    await index.indexAllFromWorkspace(workspace, { prefix: 'users/bob/' });
    expect(await bytesOf(path)).toMatch(/Quetzalcoatl/);

    await workspace.delete('users/alice');
    const scheduler = new MemoryService({ workspace, index });
    onTestFinished(() => scheduler.close());
    expect((await scheduler.maintain()).failures).toEqual([]);
    expect(await index.search('xylophone7 zanzibar77', { prefix })).toEqual([]);
    const bytes = await bytesOf(path);
    for (const word of ['Quetzalcoatl', 'quetzalcoatl', 'xylophon', 'zanzibar', 'passport']) {
      expect(bytes).not.toContain(word);
    }
    expect(bytes).toContain('stays with bob');
  });
});

it('reads no file again that did not change, and of 300 notes the one that did', async () => {
  const { workspace, reads } = counting(await testWorkspace());
  const index = await openIndex(':memory:');
  for (let day = 0; day < 300; day++) {
    const name = new Date(day * DAY_MS).toISOString().slice(0, 10);
    await workspace.write(`${prefix}memory/${name}.md`, `- needle ${day}`);
  }
  await setTimeout(30);
  await index.indexAllFromWorkspace(workspace, { prefix });
  reads.length = 0;
  await index.indexAllFromWorkspace(workspace, { prefix });
  expect(reads).toEqual([]);
  await workspace.write(`${prefix}memory/1970-01-08.md`, '- changed 7');
  await setTimeout(30);
  await index.indexAllFromWorkspace(workspace, { prefix });
  expect(reads).toEqual([`${prefix}memory/1970-01-08.md`]);
  expect(await index.search('changed')).toHaveLength(1);
  await index.indexAllFromWorkspace(workspace, { prefix });
  expect(reads).toHaveLength(1);
});

describe('while another connection writes', () => {
  it('searches what is there, says so, and holds nothing up', async () => {
    const path = join(await temporaryDirectory(), 'index.db');
    const workspace = await testWorkspace();
    const capability = memory({ index: path });
    onTestFinished(async () => {
      await capability.close?.();
    });
    const context = toolContext(workspace, alice);
    await workspace.write(`${prefix}MEMORY.md`, '- likes tea\n');
    await runTool(capability, 'memory_search', { query: 'tea' }, context);

    const other = openBeside(path);
    onTestFinished(() => void other.close());
    other.exec('BEGIN IMMEDIATE');
    await workspace.append(`${prefix}MEMORY.md`, '- likes cats\n');
    let longest = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 5);
    const found = await runTool(capability, 'memory_search', { query: 'tea' }, context);
    clearInterval(timer);
    expect(found).toMatch(/^The index is not up to date.*\nMEMORY\.md:1: - likes tea$/);
    expect(longest).toBeLessThan(1_000);
    other.exec('COMMIT');
    const later = async (): Promise<string> =>
      runTool(capability, 'memory_search', { query: 'cats' }, context);
    await expect.poll(later, { timeout: 15_000 }).toBe('MEMORY.md:2: - likes cats');
  });

  it('never mixes two states of a file in one answer', async () => {
    const path = join(await temporaryDirectory(), 'index.db');
    const [writer, reader] = [await openIndex(path), await openIndex(path)];
    const state = (name: string) => Array.from({ length: 300 }, (_, at) => `needle ${name} ${at}`).join('\n');
    await writer.indexFromString('a.md', state('red'));
    let done = false;
    const writing = (async () => {
      for (let round = 0; round < 6; round++)
        await writer.indexFromString('a.md', state(round % 2 ? 'red' : 'blue'));
      done = true;
    })();
    let searches = 0;
    while (!done) {
      for (const index of [reader, writer]) {
        const hits = await index.search('needle', { limit: 20 });
        expect(new Set(hits.map(({ content }) => content.split(' ')[1])).size).toBe(1);
      }
      searches++;
      await setTimeout(1);
    }
    await writing;
    expect(searches).toBeGreaterThan(0);
  });

  it('reads all of an answer as of one moment, whenever the lines change meanwhile', async () => {
    const path = join(await temporaryDirectory(), 'index.db');
    const index = await openIndex(path);
    const other = openBeside(path);
    onTestFinished(() => void other.close());
    // The best, which are short, stand far apart, and are not read at once.
    const lines = Array.from(
      { length: 1_200 },
      (_, at) => `the needle ${at % 20 ? 'in the haystack behind the barn ' : ''}is red`,
    );
    await index.indexFromString('a.md', lines.join('\n'));
    for (let turn = 1; turn < 24; turn++) {
      const [from, to] = turn % 2 ? ['red', 'blue'] : ['blue', 'red'];
      const searching = index.search('where is the needle now', { limit: 20 });
      for (let passed = 0; passed < turn; passed++) await new Promise(setImmediate);
      other.prepare('UPDATE lines SET content = replace(content, ?, ?)').run(from, to);
      const colors = (await searching).map(({ content }) => content.split(' ').at(-1));
      expect([colors.length, new Set(colors).size]).toEqual([20, 1]);
    }
  });
});

describe('on a full disk', () => {
  it('searches what is there, says so, and goes on when there is room', async () => {
    const { path, fill, free } = await smallDisk();
    const index = await openIndex(path);
    const workspace = await testWorkspace();
    await workspace.write(`${prefix}memory/2026-01-01.md`, '- the zebra is striped\n');
    await index.indexAllFromWorkspace(workspace, { prefix });
    fill();
    const words = Array.from({ length: 300 }, (_, number) => `- late lion number ${number}`);
    await workspace.write(`${prefix}memory/2026-01-02.md`, words.join('\n'));
    const capability = memory({ index, maintenance: false });
    onTestFinished(() => capability.close?.());
    const search = (query: string) =>
      runTool(capability, 'memory_search', { query }, toolContext(workspace, alice));
    await expect(index.indexAllFromWorkspace(workspace, { prefix })).rejects.toThrow('full');
    expect(await search('zebra')).toMatch(/^The index is not up to date[\s\S]*the zebra is striped/);
    free();
    await index.indexAllFromWorkspace(workspace, { prefix });
    expect(await search('lion 299')).toMatch(/^memory\/2026-01-02\.md:300: /);
  });
});

const isRoot = process.getuid?.() === 0;
const mountReadOnly = (path: string) =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', path]).status === 0;
const unmount = (path: string) => void spawnSync('umount', ['-l', path]);

/** Tests if this machine can have a folder that nobody can write to. Root can write to any folder that is not mounted. */
function canBeReadOnly(): boolean {
  if (!isRoot) return true;
  const path = mkdtempSync(join(tmpdir(), 'x-read-only-'));
  const isMounted = mountReadOnly(path);
  if (isMounted) unmount(path);
  rmSync(path, { recursive: true, force: true });
  return isMounted;
}

async function makeReadOnly(path: string): Promise<void> {
  if (isRoot) expect(mountReadOnly(path)).toBe(true);
  else await chmod(path, 0o500);
  onTestFinished(() => (isRoot ? unmount(path) : chmod(path, 0o700)));
}

it.runIf(canBeReadOnly())(
  'is made in memory if its folder is read-only, and forgets nothing there',
  async () => {
    const directory = await temporaryDirectory();
    await makeReadOnly(directory);
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => warned.mockRestore());
    const workspace = await testWorkspace();
    await workspace.write(`${prefix}memory/2026-01-01.md`, '- the zebra is striped\n');
    const path = join(directory, 'index.db');
    const service = new MemoryService({ workspace, index: path });
    onTestFinished(() => service.close());
    for (const query of ['zebra', 'striped']) {
      const { hits, stale } = await service.search(prefix, query);
      expect([hits.map(({ content }) => content), stale]).toEqual([['- the zebra is striped'], undefined]);
    }
    expect(warned.mock.calls.map(String)).toEqual([expect.stringContaining(path)]);
    await expect(MemoryIndex.at(path).forget('users/alice/')).rejects.toThrow(path);
    await expect(MemoryIndex.open(path)).rejects.toThrow(path);
  },
);

it.each([
  ['something else, which stays as it is', 'notes.txt'],
  ['a folder', '.'],
])('is made in memory where its path is that of %s', async (_, name) => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  onTestFinished(() => warned.mockRestore());
  const workspace = await testWorkspace();
  await workspace.write(`${prefix}memory/2026-01-01.md`, '- the zebra is striped\n');
  const folder = await temporaryDirectory();
  const [notes, path] = [join(folder, 'notes.txt'), join(folder, name)];
  appendFileSync(notes, 'my notes, which are no database at all');
  const service = new MemoryService({ workspace, index: path });
  onTestFinished(() => service.close());
  expect((await service.search(prefix, 'zebra')).hits).toHaveLength(1);
  expect(warned.mock.calls.map(String)).toEqual([expect.stringContaining(path)]);
  expect(await readFile(notes, 'utf8')).toBe('my notes, which are no database at all');
});

/** Counts how often others get their turn meanwhile. */
async function turnsDuring(task: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await task();
  isDone = true;
  return turns;
}

describe('others get their turn', () => {
  it('while a line of megabytes is cut, indexed, searched and changed', async () => {
    const index = await openIndex(':memory:');
    const text = `first\n${Array.from({ length: 150_000 }, (_, number) => `word${number}`).join(' ')} the end\nlast`;
    // About a thousand rows, written 25 at a time, then read again.
    expect(await turnsDuring(() => index.indexFromString('memory/a.md', text))).toBeGreaterThan(40);
    expect(await turnsDuring(() => index.indexFromString('memory/a.md', `${text}!`))).toBeGreaterThan(25);
    // All of one and a half million characters are taken apart, at most 40 000 in one go.
    const question = 'what is at the end of the first word?';
    expect(await turnsDuring(() => index.search(question))).toBeGreaterThan(25);
    const [hit] = await index.search('word123456');
    expect(hit).toMatchObject({ path: 'memory/a.md', lineNumber: 2 });
    expect(hit?.content.length).toBeLessThanOrEqual(2_000);
  });

  it('while many lines are read, moved and forgotten', async () => {
    const path = join(await temporaryDirectory(), 'index.db');
    const index = await openIndex(path);
    const lines = Array.from({ length: 10_000 }, (_, number) => `line ${number} ${'of many '.repeat(25)}`);
    const changes = [lines, ['new', ...lines], []];
    for (const text of changes.map((all) => all.join('\n'))) {
      expect(await turnsDuring(() => index.indexFromString('memory/a.md', text))).toBeGreaterThan(400);
    }
    const all = vi.spyOn(SqliteStatement.prototype, 'all');
    onTestFinished(() => all.mockRestore());
    await index.indexFromString('memory/a.md', lines.join('\n'));
    await index.indexFromString('memory/a.md', ['new', ...lines].join('\n'));
    const rows = all.mock.results.map(({ value }) => (value as unknown[]).length);
    expect(Math.max(...rows)).toBeLessThanOrEqual(1_000);
  });
});

it('two that index one large file at the same time index each line once', async () => {
  const path = join(await temporaryDirectory(), 'index.db');
  const both = [await openIndex(path), await openIndex(path)];
  const text = Array.from({ length: 12_000 }, (_, at) => `line ${at} ${'of many '.repeat(25)}`).join('\n');
  await Promise.all(both.map((index) => index.indexFromString('memory/a.md', text)));
  const database = openBeside(path);
  onTestFinished(() => void database.close());
  const count = (sql: string) => database.prepare(sql).cell();
  expect(count('SELECT count(*) FROM lines')).toBe(12_000);
  expect(count('SELECT sum(lines) FROM scopes')).toBe(12_000);
  expect(count('SELECT count(DISTINCT number) FROM lines')).toBe(12_000);
  for (const index of both) expect((await index.search('11999'))[0]?.lineNumber).toBe(12_000);
});
