import { createRequire } from 'node:module';
import { loadSqlite, type SqliteDatabase } from '../packages/core/src/lib/sqlite.js';

const load = createRequire(new URL('../packages/session-sqlite/package.json', import.meta.url));

/** Opens a database beside the code under test, through the driver that this process can load. */
export function openBeside(file: string, options: { readonly readOnly?: boolean } = {}): SqliteDatabase {
  return loadSqlite(load)(file, options);
}
