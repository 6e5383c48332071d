import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dumpSqlite, openBeside } from '@x/test-support';
import type { StoredData } from '@x/test-support/suites';
import { SqliteSession } from '../src/index.js';

/** What a file has stored, as SQL. */
export function storedIn(fresh: () => string, last: () => string): StoredData {
  return {
    fixture: fileURLToPath(new URL('../fixtures/stored/1/sessions.sql', import.meta.url)),
    create: () => new SqliteSession({ file: fresh() }),
    dump: () => dumpSqlite(last(), /^sqlite_/),
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
