import type { Pool, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { execute, inTransaction } from './execute.js';
import type { Statements } from './statements.js';
import { attempt } from './store-error.js';

/** Bounds of one transaction. A session is never divided, so that one with more messages goes alone. */
const MAX_SESSIONS = 100;
const MAX_MESSAGES = 10_000;

interface OldRow extends RowDataPacket {
  readonly id: number | string;
  readonly count: number | string;
}

/** Deletes sessions that nobody has changed since `time` (UTC), the oldest first, and answers how many. */
export async function deleteOlderThan(
  pool: Pool,
  statements: Statements,
  time: string,
  limit: number,
): Promise<number> {
  const page = statements.old(MAX_SESSIONS);
  let deleted = 0;
  while (deleted < limit) {
    const found = await attempt(undefined, () => execute<OldRow[]>(pool, page, [time]));
    if (found.length === 0) break;
    const ids = batch(found, limit - deleted);
    deleted += await attempt(undefined, () => deleteSessions(pool, statements, time, ids));
  }
  await forgetLeases(pool, statements, time);
  return deleted;
}

function batch(found: readonly OldRow[], limit: number): readonly string[] {
  let messages = 0;
  const fitting = found.slice(0, limit).findIndex(({ count }, index) => {
    messages += Number(count);
    return index > 0 && messages > MAX_MESSAGES;
  });
  const end = fitting === -1 ? limit : fitting;
  return found.slice(0, end).map(({ id }) => String(id));
}

/** Looks again under a lock: who has been changed meanwhile stays. */
function deleteSessions(
  pool: Pool,
  statements: Statements,
  time: string,
  ids: readonly string[],
): Promise<number> {
  return inTransaction(pool, async (connection) => {
    const locked = await execute<OldRow[]>(connection, statements.lockOld(ids.length), [...ids, time]);
    if (locked.length === 0) return 0;
    const old = locked.map(({ id }) => String(id));
    await execute(connection, statements.deleteMessages(old.length), old);
    await execute(connection, statements.deleteSessions(old.length), old);
    return old.length;
  });
}

/** Leases of that time; the next one of a session begins with a larger fence all the same. */
async function forgetLeases(pool: Pool, statements: Statements, time: string): Promise<void> {
  let forgotten: number;
  do {
    const { affectedRows } = await attempt(undefined, () =>
      execute<ResultSetHeader>(pool, statements.forgetLeases, [time]),
    );
    forgotten = affectedRows;
  } while (forgotten > 0);
}
