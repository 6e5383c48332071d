import { statSync } from 'node:fs';
import { readFile, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openBeside } from '@x/test-support';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MemoryIndex, MemoryIndexError } from '../src/index.js';
import { temporaryDirectory, testWorkspace } from './support/test-context.js';

async function openIndex(path = ':memory:'): Promise<MemoryIndex> {
  const index = await MemoryIndex.open(path);
  onTestFinished(() => index.close());
  return index;
}

const found = async (index: MemoryIndex, query: string) =>
  (await index.search(query)).map(({ path, lineNumber }) => `${path}:${lineNumber}`);

describe('search', () => {
  it('gives the line, its place and its rank, the best first', async () => {
    const index = await openIndex();
    await index.indexFromString('memory/a.md', '# Notes\n\nWe use a database.\nDatabase migration: Flyway');
    await index.indexFromString('memory/b.md', 'Nothing of interest');
    const hits = await index.search('database migration');
    expect(hits).toEqual([
      { path: 'memory/a.md', lineNumber: 4, content: 'Database migration: Flyway', rank: expect.any(Number) },
      { path: 'memory/a.md', lineNumber: 3, content: 'We use a database.', rank: expect.any(Number) },
    ]);
    expect(await index.search('database', { limit: 1 })).toHaveLength(1);
    expect(await index.search('database', { limit: 0 })).toEqual([]);
  });

  it.each([
    ['migrations', 'the migration ran'],
    ['RÉSUMÉ', 'a resume'],
    ['数据库', '我们把数据库迁移到新服务器'],
    ['库', '数据库'],
    ['東京 タワー', '東京タワーに行く'],
    ['getWeather', 'call getWeather(city)'],
    ['weather', 'call getWeather(city)'],
    ['max_file_size', 'MAX_FILE_SIZE=3'],
    ['"exact AND phrase', 'the exact word and a phrase'],
  ])('finds with %s: %s', async (query, line) => {
    const index = await openIndex();
    await index.indexFromString('a.md', `unrelated\n${line}`);
    expect(await found(index, query)).toEqual(['a.md:2']);
  });

  it('takes any text for a query', async () => {
    const index = await openIndex();
    await index.indexFromString('a.md', 'a line of text, 数据库');
    const operators = fc.constantFrom(
      '"',
      '*',
      '^',
      '(',
      ')',
      ':',
      '-',
      'AND',
      'OR',
      'NOT',
      'NEAR(',
      'terms',
      '\0',
    );
    const query = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(fc.oneof(operators, fc.constantFrom('text', '数', ' '))).map((parts) => parts.join(' ')),
    );
    await fc.assert(
      fc.asyncProperty(query, async (text) => {
        expect(Array.isArray(await index.search(text))).toBe(true);
      }),
      { numRuns: 200 },
    );
    expect(await found(index, 'line*" OR (text')).toEqual(['a.md:1']);
  });

  it('takes time in proportion to a query', async () => {
    const index = await openIndex();
    // Of this process alone: what others do meanwhile must not count.
    const before = process.cpuUsage();
    for (const text of ['x', 'X', '1', '/', '-', '"', '*', '数', 'a_', 'x ']) {
      expect(await index.search(text.repeat(200_000 / text.length))).toEqual([]);
    }
    expect(process.cpuUsage(before).user).toBeLessThan(20_000_000);
  });

  it('finds every line by any word of it', async () => {
    const index = await openIndex();
    const word = fc.stringMatching(/^[a-zA-Z0-9éüñ_語数]{1,12}$/);
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 6 }), fc.nat(), async (words, pick) => {
        await index.indexFromString('a.md', words.join(' '));
        expect(await found(index, words[pick % words.length] ?? '')).toEqual(['a.md:1']);
      }),
    );
  });

  it('keeps to a prefix', async () => {
    const index = await openIndex();
    for (const path of [
      'MEMORY.md',
      'memory/a.md',
      'users/a/MEMORY.md',
      'users/a/memory/n.md',
      'users/ab/MEMORY.md',
    ]) {
      await index.indexFromString(path, 'needle');
    }
    const paths = async (prefix?: string) =>
      (await index.search('needle', { prefix })).map(({ path }) => path).sort();
    expect(await paths('users/a/')).toEqual(['users/a/MEMORY.md', 'users/a/memory/n.md']);
    expect(await paths('')).toEqual(['MEMORY.md', 'memory/a.md']);
    expect(await paths('users/%/')).toEqual([]);
    expect(await paths()).toHaveLength(5);
  });

  it('refuses bad options with their path', async () => {
    const index = await openIndex();
    await expect(index.search('a', { limit: -1 })).rejects.toThrow('limit');
    await expect(index.search('a', { max: 1 } as never)).rejects.toThrow('max');
  });
});

describe('indexFromString', () => {
  it('replaces the lines of that file alone', async () => {
    const index = await openIndex();
    await index.indexFromString('a.md', 'cat\ndog');
    await index.indexFromString('b.md', 'cat');
    await index.indexFromString('a.md', 'bird\r\ndog');
    expect(await found(index, 'cat')).toEqual(['b.md:1']);
    expect(await found(index, 'dog')).toEqual(['a.md:2']);
    await index.indexFromString('a.md', '');
    expect(await found(index, 'dog bird')).toEqual([]);
  });

  it('is the same as indexing anew, whatever was there before', async () => {
    const index = await openIndex();
    const text = fc
      .array(fc.constantFrom('red', 'green', 'blue', '', 'red green'))
      .map((lines) => lines.join('\n'));
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 4 }), async (versions) => {
        for (const version of versions) await index.indexFromString('a.md', version);
        const fresh = await openIndex();
        await fresh.indexFromString('a.md', versions.at(-1) ?? '');
        for (const query of ['red', 'green', 'blue']) {
          const options = { limit: 100 };
          const places = async (target: MemoryIndex) =>
            (await target.search(query, options)).map(({ lineNumber }) => lineNumber).sort();
          expect(await places(index)).toEqual(await places(fresh));
        }
      }),
    );
  });

  it('reads a line with a NUL to its end, and knows it again', async () => {
    const path = join(await temporaryDirectory(), 'index.db');
    const index = await openIndex(path);
    await index.indexFromString('a.md', 'before\0after');
    const ids = openBeside(path, { readOnly: true });
    onTestFinished(() => ids.close());
    const before = ids.prepare('SELECT id FROM lines').column();
    await index.indexFromString('a.md', 'before\0after\nmore');
    expect(ids.prepare('SELECT id FROM lines').column()).toEqual(expect.arrayContaining(before));
    expect(await index.search('after')).toMatchObject([{ lineNumber: 1, content: 'before after' }]);
  });

  it('writes only what changed', async () => {
    const path = join(await temporaryDirectory(), 'index.db');
    const index = await openIndex(path);
    const lines = Array.from({ length: 500 }, (_, number) => `line number ${number}`);
    await index.indexFromString('a.md', lines.join('\n'));
    const other = openBeside(path, { readOnly: true });
    onTestFinished(() => {
      other.close();
    });
    const ids = other.prepare('SELECT id FROM lines ORDER BY number');
    const before = ids.column<number>();
    await index.indexFromString(
      'a.md',
      ['first', ...lines.slice(0, 250), 'changed', ...lines.slice(251)].join('\n'),
    );
    const after = ids.column<number>();
    const added = after.filter((id) => !before.includes(id));
    expect(added).toHaveLength(2);
    expect(after).toHaveLength(501);
    expect(await found(index, 'changed')).toEqual(['a.md:252']);
  });
});

it('lets others have their turn after every few lines that it compares, takes out and adds, and in a long one', async () => {
  const index = await openIndex();
  const text = (word: string) => Array.from({ length: 2_000 }, (_, at) => `${word} ${at}`).join('\n');
  let turns = 0;
  const counted = async (task: Promise<void>) => {
    turns = 0;
    let isOver = false;
    const done = task.finally(() => {
      isOver = true;
    });
    for (; !isOver; turns++) await new Promise((resolve) => setImmediate(resolve));
    await done;
    return turns;
  };
  expect(await counted(index.indexFromString('a.md', text('first')))).toBeGreaterThan(150);
  expect(await counted(index.indexFromString('a.md', text('second')))).toBeGreaterThan(230);
  expect(await counted(index.indexFromString('a.md', 'word '.repeat(400_000)))).toBeGreaterThan(150);
});

describe('indexAllFromWorkspace', () => {
  it('indexes memory files and nothing else, again what changed, and forgets what is gone', async () => {
    const workspace = await testWorkspace();
    const index = await openIndex();
    await workspace.write('MEMORY.md', 'needle core');
    await workspace.write('memory/2026-01-01.md', 'needle day');
    await workspace.write('memory/archive/2025-01-01.md', 'needle old');
    await workspace.write('memory/.consolidation_state', 'needle');
    await workspace.write('README.md', 'needle');
    await workspace.write('users/bob/MEMORY.md', 'needle of bob');
    await index.indexAllFromWorkspace(workspace);
    expect((await found(index, 'needle')).sort()).toEqual([
      'MEMORY.md:1',
      'memory/2026-01-01.md:1',
      'memory/archive/2025-01-01.md:1',
    ]);
    await index.indexAllFromWorkspace(workspace, { prefix: 'users/bob/' });
    await workspace.delete('memory/2026-01-01.md');
    await workspace.write('MEMORY.md', 'other core');
    await index.indexAllFromWorkspace(workspace);
    expect((await found(index, 'needle')).sort()).toEqual([
      'memory/archive/2025-01-01.md:1',
      'users/bob/MEMORY.md:1',
    ]);
  });

  it('reads no file again of the same size and time', async () => {
    const workspace = await testWorkspace();
    const index = await openIndex();
    const read: string[] = [];
    const watched = new Proxy(workspace, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => {
          if (name === 'read') read.push(String(given[0]));
          return Reflect.apply(value, target, given);
        };
      },
    });
    const paths = ['MEMORY.md', 'memory/2026-01-01.md', 'memory/archive/2025-01-01.md'];
    const write = async (path: string, text: string, time: string) => {
      await workspace.write(path, text);
      await utimes(join(workspace.root, path), new Date(time), new Date(time));
    };
    for (const path of paths) await write(path, 'needle', '2026-01-02');
    await index.indexAllFromWorkspace(watched);
    expect(read.splice(0).sort()).toEqual(paths);
    await index.indexAllFromWorkspace(watched);
    expect(read).toEqual([]);
    await write('MEMORY.md', 'thread', '2026-01-03');
    await index.indexAllFromWorkspace(watched);
    expect(read).toEqual(['MEMORY.md']);
    expect(await found(index, 'thread')).toEqual(['MEMORY.md:1']);
  });
});

describe('open', () => {
  it('keeps what was indexed, in a directory that it makes, for several at the same time', async () => {
    const path = join(await temporaryDirectory(), 'deep', 'index.db');
    const [first, second] = await Promise.all([openIndex(path), openIndex(path)]);
    await first.indexFromString('a.md', 'cat');
    await second.indexFromString('b.md', 'cat');
    expect((await found(first, 'cat')).sort()).toEqual(['a.md:1', 'b.md:1']);
    const third = await openIndex(path);
    expect(await found(third, 'cat')).toHaveLength(2);
  });

  it('makes an index of another version anew', async () => {
    const path = join(await temporaryDirectory(), 'index.db');
    const index = await MemoryIndex.open(path);
    await index.indexFromString('a.md', 'cat');
    index.close();
    const database = openBeside(path);
    database.exec('PRAGMA user_version = 99');
    database.close();
    expect(await found(await openIndex(path), 'cat')).toEqual([]);
  });

  it('leaves other files alone', async () => {
    const directory = await temporaryDirectory();
    const text = join(directory, 'notes.txt');
    await writeFile(text, 'my notes, which are no database at all');
    await expect(MemoryIndex.open(text)).rejects.toBeInstanceOf(MemoryIndexError);
    expect(await readFile(text, 'utf8')).toBe('my notes, which are no database at all');

    const foreign = join(directory, 'app.db');
    const database = openBeside(foreign);
    database.exec('CREATE TABLE lines (a)');
    database.close();
    await expect(MemoryIndex.open(foreign)).rejects.toThrow('is not a memory index');

    // What someone else put into an index would run with every line that is written.
    const brought = join(directory, 'brought.db');
    await (await MemoryIndex.open(brought)).close();
    const index = openBeside(brought);
    index.exec('CREATE TRIGGER t AFTER INSERT ON lines BEGIN DELETE FROM lines; END');
    index.close();
    await expect(MemoryIndex.open(brought)).rejects.toThrow('has triggers or views');
    expect(openBeside(foreign).prepare('SELECT COUNT(*) FROM lines').cell()).toBe(0);
  });
});

it('keeps its files, and the folder that it makes for them, from other users of the machine', async () => {
  const path = join(await temporaryDirectory(), 'made/for/it/index.db');
  const index = await openIndex(path);
  await index.indexFromString('memory/a.md', 'A line of notes');
  const modes = ['', '-wal', '-shm'].map((suffix) => statSync(`${path}${suffix}`).mode & 0o777);
  expect(modes).toEqual([0o600, 0o600, 0o600]);
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
});
