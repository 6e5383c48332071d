import {
  hasEnded,
  type LoadedRows,
  type ProcessIdentity,
  type RunSql,
  type SqlDialect,
  type SqlRow,
  thisProcess,
} from '@x/core/internal';
import { heldLease } from '@x/core/store';
import type { SessionFile } from './database.js';
import { STATEMENTS } from './statements.js';

/** The dialect of SQLite. */
export function sqliteDialect(file: SessionFile): SqlDialect<string> {
  const run: RunSql = async (statement, values) => {
    const result = await file.run(statement, values);
    if (statement === STATEMENTS.release && result.rows[0]?.isLast === 1) file.hasDeleted = true;
    return result;
  };
  return {
    database: 'SQLite',
    owner: '@x/session-sqlite',
    subject: `The file ${file.database.file}`,
    reach: 'host',
    statements: STATEMENTS,
    listing: {
      select: STATEMENTS.list,
      suffix: '',
      part: (encoded) => encoded,
      behind: '(updated_at, id) < (:time, CAST(:id AS INTEGER))',
      time: (milliseconds) => milliseconds,
    },
    // `SessionFile` already waits for other processes, and converts all errors.
    judge: () => ({ isTransient: false, isRefused: true, isMissing: false }),
    idOf: (key) => key,
    token: (token) => token,
    textOf: (json) => json,
    run,
    beat: (statement, values) => run(statement, { ...values, ...thisProcess() }),
    transaction: (task, isDeletion) => (isDeletion ? file.deletion(task) : file.transaction(task)),
    createTables: async () => {},
    load: (id, last) =>
      file.transaction(async (run) => {
        const [session] = (await run(STATEMENTS.session, { id })).rows;
        if (session === undefined) return undefined;
        const [version, count] = [Number(session.version), Number(session.count)];
        const { rows } = await run(STATEMENTS.messages, { row: session.id, first: count - last });
        const messages = rows as unknown as LoadedRows['messages'];
        const updatedAt = new Date(Number(session.time));
        return {
          token: String(session.token),
          version,
          count,
          head: String(session.head),
          updatedAt,
          messages,
        };
      }, 'deferred'),
    append: async () => undefined,
    insert: async (run, values) => (await run(STATEMENTS.insert, values)).rows[0]?.id,
    async add(run, row, keep, messages) {
      for (const [index, message] of messages.entries())
        await run(STATEMENTS.add, { row, seq: keep + index, message });
    },
    operationsOf: ({ token, earlier }) => [...(String(earlier).match(/.{8}/gs) ?? []), String(token)],
    async delete(run, id, token) {
      const [session] = (await run(STATEMENTS.delete, { id, token })).rows;
      if (session !== undefined) await run(STATEMENTS.cut, { row: session.id, keep: 0 });
      const isOther = token !== undefined && session === undefined;
      const leases = isOther ? 0 : (await run(STATEMENTS.deleteLease, { id })).changed;
      if (session !== undefined || leases > 0) file.hasDeleted = true;
      if (await sweep(run)) file.hasDeleted = true;
      return session !== undefined;
    },
  };
}

/** Deletes the leases and records of ended processes. Returns whether leases were deleted, because these contain the keys of sessions. */
export async function sweep(run: RunSql): Promise<boolean> {
  const isEnded = ({ claim }: SqlRow) => hasEnded(heldLease(claim, 0));
  const ended = (await run(STATEMENTS.leases, {})).rows.filter(isEnded);
  for (const { key } of ended) await run(STATEMENTS.deleteLease, { id: key });
  for (const row of (await run(STATEMENTS.processes, {})).rows)
    if (hasEnded(row as unknown as ProcessIdentity)) await run(STATEMENTS.retire, { process: row.id });
  return ended.length > 0;
}
