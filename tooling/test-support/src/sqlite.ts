import { createRequire } from 'node:module';
import { loadSqlite, type SqliteDatabase } from '@x/core/internal';

const load = createRequire(new URL('../../../packages/session-sqlite/package.json', import.meta.url));

/** Opens a database independently of the code under test, with the driver that this process can load. */
export function openBeside(file: string, options: { readonly readOnly?: boolean } = {}): SqliteDatabase {
  return loadSqlite(load)(file, options);
}

/** Returns a database as SQL, without the tables that `leftOut` matches. */
export function dumpSqlite(file: string, leftOut = /^$/): string {
  const database = openBeside(file, { readOnly: true });
  const schema = database
    .prepare('SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name')
    .all<{ readonly name: string; readonly type: string; readonly sql: string }>()
    .filter(({ name }) => !leftOut.test(name));
  const lines = [`PRAGMA user_version = ${database.pragma('user_version')};`];
  for (const { sql } of schema.sort((a, b) => Number(b.type === 'table') - Number(a.type === 'table'))) {
    lines.push(`${sql};`);
  }
  for (const { name, type, sql } of schema) {
    if (type !== 'table' || sql.startsWith('CREATE VIRTUAL')) continue;
    const columns = database.prepare(`SELECT name FROM pragma_table_info('${name}')`).column<string>();
    const values = columns.map((column) => `quote(${column})`).join(" || ', ' || ");
    const rows = database.prepare(`SELECT ${values} FROM ${name} ORDER BY 1`).column<string>();
    for (const row of rows) lines.push(`INSERT INTO ${name} (${columns.join(', ')}) VALUES (${row});`);
  }
  database.close();
  return `${lines.join('\n')}\n`;
}
