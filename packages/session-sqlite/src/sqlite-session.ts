import { parseWith, SqlSession } from '@x/core/internal';
import * as z from 'zod';
import { openDatabase, SessionFile } from './database.js';
import { sqliteDialect, sweep } from './sqlite-dialect.js';

const optionsSchema = z.strictObject({
  /** Path of the database. Missing directories are created. Only the current user can read a new file (0600). `:memory:` for tests. */
  file: z.string().min(1),
  /**
   * Durability of a commit. `full` (default): waits for the disk, so commits survive a power loss. `normal`: waits for the operating
   * system only, so commits survive a process crash; several times faster on slow disks.
   */
  synchronous: z.enum(['full', 'normal']).default('full'),
  /** Milliseconds that an operation waits for another process's transaction. Default 10 000. */
  lockTimeoutMs: z.number().nonnegative().default(10_000),
});

/** Options of a `SqliteSession`. */
export type SqliteSessionOptions = Readonly<z.input<typeof optionsSchema>>;

/**
 * Stores sessions in one SQLite file, for any number of processes on one machine. A commit is a transaction that writes only what it
 * adds. The constructor creates the tables.
 *
 * @example
 * ```ts
 * const store = new SqliteSession({ file: './data/sessions.db' });
 * ```
 */
export class SqliteSession extends SqlSession<string> {
  readonly #file: SessionFile;

  /**
   * @throws {InvalidInputError} for unknown or invalid options.
   * @throws {SessionStoreError} when the file cannot be opened, is not a database, or has another format.
   */
  constructor(options: SqliteSessionOptions) {
    const { file, synchronous, lockTimeoutMs } = parseWith(optionsSchema, options, 'SqliteSession options');
    const opened = new SessionFile(openDatabase(file, synchronous, lockTimeoutMs), lockTimeoutMs);
    super(sqliteDialect(opened));
    this.#file = opened;
  }

  /** Closes the file. A file of up to 64 MB from which sessions were deleted is first rewritten, so that no copies of them remain. */
  override close(): Promise<void> {
    return this.#file.close(sweep);
  }
}
