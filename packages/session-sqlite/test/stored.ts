import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StoreSuiteStored } from '@x/testkit/suites';
import { openBeside } from '../../../tooling/sqlite.js';
import { SqliteSession } from '../src/index.js';

/** What a file has stored, as SQL. */
export function storedIn(fresh: () => string, last: () => string): StoreSuiteStored {
  return {
    formats: [1],
    fixture: (format) => fileURLToPath(new URL(`../fixtures/stored/${format}/sessions.sql`, import.meta.url)),
    expiring: () => new SqliteSession({ file: last(), ttlSeconds: 1 }),
    dump: () => dump(last()),
    restore: (sql) => {
      const file = fresh();
      mkdirSync(dirname(file), { recursive: true });
      const database = openBeside(file);
      database.exec(sql);
      database.close();
      return new SqliteSession({ file });
    },
  };
}

function dump(file: string): string {
  const database = openBeside(file, { readOnly: true });
  const schema = database
    .prepare('SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name')
    .all<{ readonly name: string; readonly type: string; readonly sql: string }>();
  const lines = [`PRAGMA user_version = ${database.pragma('user_version')};`];
  for (const { sql } of schema.sort((a, b) => Number(b.type === 'table') - Number(a.type === 'table'))) {
    lines.push(`${sql};`);
  }
  for (const { name, type } of schema) {
    if (type !== 'table') continue;
    const columns = database.prepare(`SELECT name FROM pragma_table_info('${name}')`).column<string>();
    const values = columns.map((column) => `quote(${column})`).join(" || ', ' || ");
    const rows = database.prepare(`SELECT ${values} FROM ${name} ORDER BY 1`).column<string>();
    for (const row of rows) lines.push(`INSERT INTO ${name} (${columns.join(', ')}) VALUES (${row});`);
  }
  database.close();
  return `${lines.join('\n')}\n`;
}
