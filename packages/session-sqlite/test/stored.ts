import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dumpSqlite, openBeside } from '@x/test-support';
import type { StoreSuiteStored } from '@x/testkit/suites';
import { SqliteSession } from '../src/index.js';

/** What a file has stored, as SQL. */
export function storedIn(fresh: () => string, last: () => string): StoreSuiteStored {
  return {
    formats: [1],
    fixture: (format) => fileURLToPath(new URL(`../fixtures/stored/${format}/sessions.sql`, import.meta.url)),
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
