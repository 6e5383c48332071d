import { XError } from '../errors/x-error.js';
import { errorText } from './text.js';

/** A value of a column or parameter. */
export type SqliteValue = string | number | bigint | null | Uint8Array;
/** Values for `?`, or one object for `@name`. */
export type SqliteValues = readonly SqliteValue[] | readonly [Readonly<Record<string, SqliteValue>>];

/** Loads a module. Pass the `createRequire(import.meta.url)` of the package that depends on the module. */
export type LoadModule = (name: string) => unknown;

/** The part of the API that both drivers share. */
interface NativeDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): NativeStatement;
  close(): unknown;
}
interface NativeStatement {
  run(...values: SqliteValues): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
  get(...values: SqliteValues): unknown;
  all(...values: SqliteValues): unknown;
}
type Open = (file: string, readOnly: boolean) => NativeDatabase;

/**
 * Neither better-sqlite3 nor `node:sqlite` can be loaded (`sqlite_missing`). The message says why, and what to install.
 *
 * @code sqlite_missing Neither better-sqlite3 nor `node:sqlite` can be loaded. Do: Use Node 22.16 or newer, or run `npm install better-sqlite3@12 && npm rebuild better-sqlite3`, which needs GitHub or a compiler.
 */
export class SqliteMissingError extends XError {
  static override readonly brand = 'SqliteMissingError';

  constructor(reasons: readonly string[]) {
    super(
      'sqlite_missing',
      `SQLite cannot be loaded: ${reasons.join('; ')}. Use Node 22.16 or newer, or run: npm install better-sqlite3@12 && npm rebuild better-sqlite3 (needs GitHub, or Python and a C++ compiler)`,
    );
  }
}

/** Tests if an error, or its cause, is a {@link SqliteMissingError}. */
export function isSqliteMissing(error: unknown): boolean {
  return [error, (error as { cause?: unknown } | undefined)?.cause].some((it) =>
    SqliteMissingError.isInstance(it),
  );
}

/** An open SQLite database, through the driver that this process can load. */
export class SqliteDatabase {
  /** The name of the database in errors: the file, or the `name` option. */
  readonly file: string;
  readonly #native: NativeDatabase;
  #isOpen = true;

  constructor(file: string, native: NativeDatabase) {
    this.file = file;
    this.#native = native;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Runs statements and ignores the rows that they return. */
  exec(sql: string): void {
    this.#native.exec(sql);
  }

  prepare(sql: string): SqliteStatement {
    return new SqliteStatement(this.#native.prepare(sql));
  }

  /** Reads a pragma, such as `user_version`. To set one, use {@link exec}. */
  pragma(name: string): SqliteValue | undefined {
    return this.prepare(`PRAGMA ${name}`).cell();
  }

  /** Runs a task in a transaction, which cannot contain another. If the task throws, the transaction is rolled back. */
  transaction<T>(mode: 'deferred' | 'immediate', task: () => T): T {
    this.exec(`BEGIN ${mode}`);
    try {
      const value = task();
      this.exec('COMMIT');
      return value;
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  /** Rolls back the open transaction, if there is one. */
  rollback(): void {
    try {
      this.exec('ROLLBACK');
    } catch {
      // SQLite ends a transaction by itself after some errors, such as a full disk.
    }
  }

  /** Closes the database. Closing twice does nothing. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#native.close();
  }
}

/** A prepared statement, which can be run any number of times. */
export class SqliteStatement {
  readonly #native: NativeStatement;

  constructor(native: NativeStatement) {
    this.#native = native;
  }

  /** Runs a statement that returns no rows. */
  run(...values: SqliteValues): { readonly changes: number; readonly lastInsertRowid: number } {
    const { changes, lastInsertRowid } = this.#native.run(...values);
    return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) };
  }

  /** Returns all rows, as objects. */
  all<Row>(...values: SqliteValues): Row[] {
    return this.#native.all(...values) as Row[];
  }

  /** Returns the first row. */
  get<Row>(...values: SqliteValues): Row | undefined {
    return this.#native.get(...values) as Row | undefined;
  }

  /** Returns the first column of all rows. */
  column<Cell extends SqliteValue>(...values: SqliteValues): Cell[] {
    return this.all<Record<string, Cell>>(...values).map((row) => Object.values(row)[0] as Cell);
  }

  /** Returns the first column of the first row. */
  cell<Cell extends SqliteValue>(...values: SqliteValues): Cell | undefined {
    const row = this.get<Record<string, Cell>>(...values);
    return row && Object.values(row)[0];
  }
}

/** Opens a database. Throws the driver's error if that fails; see {@link sqliteCode}. */
export type OpenSqlite = (
  file: string,
  options?: {
    readonly readOnly?: boolean;
    readonly busyTimeoutMs?: number;
    /** Name of the database in errors. Default: the file. */
    readonly name?: string;
  },
) => SqliteDatabase;

/**
 * Loads better-sqlite3 or, if that fails, `node:sqlite`. The environment variable `X_SQLITE` selects one of them:
 * `better-sqlite3` or `node:sqlite`.
 *
 * @param load Loads better-sqlite3 from the package that depends on it.
 * @throws {SqliteMissingError} when neither can be loaded.
 */
export function loadSqlite(load: LoadModule): OpenSqlite {
  const open = loadDriver(load);
  return (file, { readOnly = false, busyTimeoutMs = 0, name = file } = {}) => {
    // Make it a relative path, because node:sqlite would parse it as a URI.
    const path = file.startsWith('file:') ? `./${file}` : file;
    const database = new SqliteDatabase(name, open(path, readOnly));
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    return database;
  };
}

/** SQLite's primary result codes, indexed by their numbers in its manual. */
const CODES =
  'OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB'.split(
    ' ',
  );

/** Returns the SQLite result code of an error of either driver, such as `SQLITE_BUSY`; `undefined` for other errors. */
export function sqliteCode(error: unknown): string | undefined {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown };
  // better-sqlite3 reports extended codes: SQLITE_BUSY_SNAPSHOT. The low byte is the primary one.
  if (typeof errcode === 'number') return `SQLITE_${CODES[errcode & 0xff]}`;
  return /^SQLITE_[A-Z]+/.exec(String(code))?.[0];
}

function loadDriver(load: LoadModule): Open {
  const only = process.env.X_SQLITE;
  const drivers = { 'better-sqlite3': () => loadBetterSqlite(load), 'node:sqlite': loadNodeSqlite };
  const reasons: string[] = [];
  for (const [name, open] of Object.entries(drivers)) {
    try {
      if (only && only !== name) throw new Error(`X_SQLITE is ${only}, not ${name}`);
      return open();
    } catch (error) {
      reasons.push(errorText(error).split('\n', 1)[0] ?? '');
    }
  }
  throw new SqliteMissingError(reasons);
}

/** @throws {Error} when better-sqlite3 is not installed, needs a newer Node, or has no binary for this one. */
function loadBetterSqlite(load: LoadModule): Open {
  let manifest: { readonly version: string; readonly engines?: { readonly node?: string } };
  try {
    manifest = load('better-sqlite3/package.json') as typeof manifest;
  } catch {
    throw new Error('better-sqlite3 is not installed');
  }
  const name = `better-sqlite3 ${manifest.version}`;
  // "20.x || 22.x" or ">=22". A binary for a newer Node can crash the process when it is loaded.
  const ranges = manifest.engines?.node?.split('||') ?? ['0'];
  const oldest = Math.min(...ranges.map((range) => Number(/\d+/.exec(range))));
  if (Number.parseInt(process.versions.node, 10) < oldest) throw new Error(`${name} needs Node ${oldest}`);
  type Class = new (file: string, options?: { readonly readonly: boolean }) => NativeDatabase;
  try {
    const Sqlite = load('better-sqlite3') as Class;
    // Opening a database loads the binary.
    new Sqlite(':memory:').close();
    return (file, readOnly) => new Sqlite(file, { readonly: readOnly });
  } catch {
    throw new Error(`${name} has no binary for Node ${process.versions.node}`);
  }
}

/** @throws {Error} when this Node has no `node:sqlite`, or one without full-text search. */
function loadNodeSqlite(): Open {
  type Options = { readonly readOnly?: boolean; readonly defensive?: boolean };
  type Module = { readonly DatabaseSync: new (file: string, options?: Options) => NativeDatabase };
  const sqlite = withoutWarning(
    () => process.getBuiltinModule('node:sqlite') as unknown as Module | undefined,
  );
  if (!sqlite || !hasFullText(new sqlite.DatabaseSync(':memory:'))) {
    throw new Error(`Node ${process.versions.node} has no node:sqlite with full-text search`);
  }
  // Like better-sqlite3, defensive mode prevents SQL from corrupting the file, if this Node supports it.
  return (file, readOnly) => new sqlite.DatabaseSync(file, { readOnly, defensive: true });
}

function hasFullText(native: NativeDatabase): boolean {
  const database = new SqliteDatabase(':memory:', native);
  const isCompiled = database.prepare(`SELECT sqlite_compileoption_used('ENABLE_FTS5')`).cell();
  database.close();
  return isCompiled === 1;
}

/** Suppresses Node's warning that `node:sqlite` is experimental, because users of a store did not choose that module. */
function withoutWarning<T>(load: () => T): T {
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).startsWith('SQLite is an experimental feature')) {
      Reflect.apply(emitWarning, process, [warning, ...rest]);
    }
  };
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
