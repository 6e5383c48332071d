import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isSqliteMissing, type LoadModule, loadSqlite, sqliteCode } from '@x/core/internal';
import { describe, expect, it, onTestFinished } from 'vitest';

const folder = fileURLToPath(new URL('../../../session-sqlite/', import.meta.url));
const openSqlite = loadSqlite(createRequire(join(folder, 'package.json')));

/** An installation of better-sqlite3; `undefined` for none. */
function installed(version?: string, node?: string, binary?: new () => unknown): LoadModule {
  return (name) => {
    if (version === undefined) throw new Error(`Cannot find module '${name}'`);
    return name.endsWith('package.json') ? { version, engines: { node } } : binary;
  };
}

class WithoutBinary {
  constructor() {
    throw new Error('Could not locate the bindings file. Tried:\n → /a/build/better_sqlite3.node');
  }
}

class Loaded {
  static count = 0;
  constructor() {
    Loaded.count++;
  }
}

/** What happens where better-sqlite3 alone may be used. */
function failure(load: LoadModule): { readonly message: string } {
  const { X_SQLITE } = process.env;
  onTestFinished(() => {
    if (X_SQLITE === undefined) delete process.env.X_SQLITE;
    else process.env.X_SQLITE = X_SQLITE;
  });
  process.env.X_SQLITE = 'better-sqlite3';
  try {
    loadSqlite(load);
  } catch (error) {
    expect(isSqliteMissing(error)).toBe(true);
    expect(isSqliteMissing(new Error('outer', { cause: error }))).toBe(true);
    return error as Error;
  }
  throw new Error('it was opened');
}

describe('loadSqlite', () => {
  it.each([
    ['is not installed', installed(), 'better-sqlite3 is not installed'],
    [
      'has no binary',
      installed('12.0.0', '20.x || 22.x', WithoutBinary),
      'better-sqlite3 12.0.0 has no binary',
    ],
  ])('says so where better-sqlite3 %s, and what to do', (_, load, reason) => {
    const { message } = failure(load);
    expect(message).toContain(reason);
    expect(message).toMatch(/Use Node 22\.16 or newer, or run: npm install better-sqlite3@12/);
    expect(message).not.toContain('/a/build');
  });

  it.each(['>=99', '>=99.1.0', '99.x || 100.x'])('never loads a better-sqlite3 for Node %s', (node) => {
    expect(failure(installed('99.0.0', node, Loaded)).message).toContain(
      'better-sqlite3 99.0.0 needs Node 99',
    );
    expect(Loaded.count).toBe(0);
  });

  it('opens a file to read only, and one whose name begins like a URI', () => {
    const directory = mkdtempSync(join(tmpdir(), 'x-core-sqlite-'));
    const file = join(directory, 'a.db');
    const database = openSqlite(file);
    database.exec('CREATE TABLE t (a)');
    database.close();
    const reader = openSqlite(file, { readOnly: true });
    expect(attempt(() => reader.exec('INSERT INTO t VALUES (1)'))).toBe('SQLITE_READONLY');
    reader.close();
    const missing = () => openSqlite(join(directory, 'no/b.db'), { readOnly: true });
    expect(missing).toThrow(/open/);
    const before = process.cwd();
    process.chdir(directory);
    onTestFinished(() => process.chdir(before));
    openSqlite('file:b.db?mode=memory').close();
    expect(existsSync(join(directory, 'file:b.db?mode=memory'))).toBe(true);
  });

  it('prints nothing', () => {
    const script = `
      import { createRequire } from 'node:module';
      import { loadSqlite } from '@x/core/internal';
      const emitWarning = process.emitWarning;
      loadSqlite(createRequire(${JSON.stringify(join(folder, 'package.json'))}))(':memory:').close();
      console.log(process.emitWarning === emitWarning);`;
    const flags = ['--conditions=@x/source', '--import', 'tsx', '--input-type=module', '--eval', script];
    const output = execFileSync(process.execPath, flags, {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    expect(output).toBe('true\n');
  });
});

function attempt(task: () => unknown): string | undefined {
  try {
    task();
  } catch (error) {
    return sqliteCode(error);
  }
  throw new Error('it did not fail');
}

describe('SqliteDatabase', () => {
  it('answers rows, columns and cells, and takes values by place and by name', () => {
    const database = openSqlite(':memory:');
    onTestFinished(() => database.close());
    database.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT UNIQUE, b REAL)');
    const insert = database.prepare('INSERT INTO t (a, b) VALUES (?, ?)');
    expect(insert.run('x', 1.5)).toEqual({ changes: 1, lastInsertRowid: 1 });
    database.prepare('INSERT INTO t (a, b) VALUES (@a, @b)').run({ a: 'ü\u{1F600}', b: null });
    const select = database.prepare('SELECT a, b FROM t WHERE id >= ? ORDER BY id');
    expect(select.all(1)).toEqual([
      { a: 'x', b: 1.5 },
      { a: 'ü\u{1F600}', b: null },
    ]);
    expect(select.get(2)).toEqual({ a: 'ü\u{1F600}', b: null });
    expect(select.get(3)).toBeUndefined();
    expect(select.column(1)).toEqual(['x', 'ü\u{1F600}']);
    expect([select.cell(1), select.cell(3)]).toEqual(['x', undefined]);
    expect(attempt(() => insert.run('x', 2))).toBe('SQLITE_CONSTRAINT');
    expect(attempt(() => database.exec('SELECT 1 FROM'))).toBe('SQLITE_ERROR');
    database.exec('PRAGMA user_version = 7');
    expect(database.pragma('user_version')).toBe(7);
  });

  it('undoes a transaction whose task throws, and is closed any number of times', () => {
    const database = openSqlite(':memory:');
    database.exec('CREATE TABLE t (a)');
    const add = () => database.prepare('INSERT INTO t VALUES (1)').run().changes;
    expect(database.transaction('immediate', add)).toBe(1);
    const fail = () => {
      add();
      throw new Error('enough');
    };
    expect(() => database.transaction('immediate', fail)).toThrow('enough');
    database.rollback();
    expect(database.prepare('SELECT count(*) FROM t').cell()).toBe(1);
    expect(database.isOpen).toBe(true);
    database.close();
    database.close();
    expect(database.isOpen).toBe(false);
  });

  it('says that another connection has the file', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'x-core-sqlite-')), 'a.db');
    const [first, second] = [openSqlite(file), openSqlite(file, { busyTimeoutMs: 1 })];
    first.exec('BEGIN IMMEDIATE');
    expect(attempt(() => second.exec('BEGIN IMMEDIATE'))).toBe('SQLITE_BUSY');
    for (const database of [first, second]) database.close();
  });
});

describe('sqliteCode', () => {
  it.each([
    [{ code: 'SQLITE_IOERR_WRITE' }, 'SQLITE_IOERR'],
    [{ code: 'ERR_SQLITE_ERROR', errcode: 522 }, 'SQLITE_IOERR'],
    [{ code: 'ERR_SQLITE_ERROR', errcode: 13 }, 'SQLITE_FULL'],
    [{ code: 'ERR_SQLITE_ERROR', errcode: 26 }, 'SQLITE_NOTADB'],
    [{ code: 'ENOENT' }, undefined],
    [new Error('other'), undefined],
    [undefined, undefined],
  ])('names %j %s', (error, code) => expect(sqliteCode(error)).toBe(code));
});
