import type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';
import type { Write } from './apply-change.js';
import { execute } from './execute.js';
import { hashKey } from './hash-key.js';

/** It exists; or the user may not make it: no right to the database or to routines, or none with a binary log. */
const UNNEEDED = new Set([1304, 1044, 1142, 1227, 1370, 1419]);
/** There is none, or the user may not call it. */
const NOT_CALLABLE = new Set([1305, 1370]);

/** What one call takes; more goes in several inserts, where a few round trips are nothing. */
const MAX_BYTES = 1 << 20;
const MAX_ROWS = 64;
/** Digits of a length. */
const WIDTH = 8;

interface OutcomeRow extends RowDataPacket {
  readonly appended: number | string;
}

/**
 * The common commit, to which somebody only adds, as a stored procedure: one round trip instead of four, and the row is
 * locked for no longer than the server works. Where the user may not make or call it, everything works without.
 *
 * The number in its name belongs to what it does: a release that changes it makes another, and the old one goes on serving
 * what still runs.
 */
export class AppendProcedure {
  readonly #pool: Pool;
  readonly #call: string;
  #isCallable = true;

  constructor(pool: Pool, table: string) {
    this.#pool = pool;
    this.#call = `CALL \`${table}_append_1\`(?, ?, ?, ?, ?, ?, ?, ?)`;
  }

  /**
   * Makes the change if it only adds to the expected version, and answers the new one. `undefined` when nothing was done:
   * then it is for {@link applyChange} to find out what else there is to do, or what is wrong.
   */
  async append({ key, change, head, rows, operation }: Write): Promise<number | undefined> {
    const { expectedVersion, keep, fence } = change;
    const bytes = rows.reduce((sum, { length }) => sum + length, head.length);
    if (typeof expectedVersion !== 'number' || expectedVersion === 0 || !Number.isInteger(keep) || keep < 1) {
      return undefined;
    }
    if (!this.#isCallable || rows.length > MAX_ROWS || bytes > MAX_BYTES) return undefined;
    const lengths = rows.map(({ length }) => String(length).padStart(WIDTH, '0')).join('');
    const values = [hashKey(key), expectedVersion, keep, fence ?? null, operation, head, lengths];
    try {
      const [[outcome] = []] = await execute<OutcomeRow[][]>(this.#pool, this.#call, [
        ...values,
        Buffer.concat(rows),
      ]);
      return Number(outcome?.appended) === 1 ? expectedVersion + 1 : undefined;
    } catch (error) {
      if (!isOneOf(NOT_CALLABLE, error)) throw error;
      this.#isCallable = false;
      return undefined;
    }
  }
}

/**
 * Makes the procedure, unless it is there or this user may not. It runs with the rights of who calls it. Messages come as one value with
 * their lengths beside it, since the number of parameters is fixed. Whatever fails is rolled back before the caller is
 * told: a statement that waited too long for a lock would leave the transaction open.
 */
export async function createAppendProcedure(connection: PoolConnection, table: string): Promise<void> {
  try {
    await connection.query(`
      CREATE PROCEDURE \`${table}_append_1\` (
        p_key BINARY(32), p_version BIGINT UNSIGNED, p_keep INT UNSIGNED, p_fence BIGINT UNSIGNED,
        p_operation BINARY(12), p_head LONGBLOB, p_lengths LONGBLOB, p_messages LONGBLOB)
      SQL SECURITY INVOKER
      BEGIN
        DECLARE v_session, v_fence, v_length BIGINT UNSIGNED;
        DECLARE v_seq INT UNSIGNED DEFAULT p_keep;
        DECLARE v_start, v_place BIGINT UNSIGNED DEFAULT 1;
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        START TRANSACTION;
        IF p_fence IS NOT NULL THEN
          SELECT fence INTO v_fence FROM \`${table}_leases\` WHERE key_hash = p_key LOCK IN SHARE MODE;
        END IF;
        IF p_fence <=> v_fence THEN
          UPDATE \`${table}\` SET id = LAST_INSERT_ID(id), version = version + 1,
            message_count = p_keep + LENGTH(p_lengths) DIV ${WIDTH}, head = p_head, operation = p_operation,
            updated_at = UTC_TIMESTAMP(3)
          WHERE key_hash = p_key AND version = p_version AND message_count = p_keep;
          IF ROW_COUNT() = 1 THEN SET v_session = LAST_INSERT_ID(); END IF;
        END IF;
        IF v_session IS NOT NULL THEN
          WHILE v_place <= LENGTH(p_lengths) DO
            SET v_length = CAST(SUBSTRING(p_lengths, v_place, ${WIDTH}) AS UNSIGNED);
            INSERT INTO \`${table}_messages\` (session_id, seq, message)
              VALUES (v_session, v_seq, SUBSTRING(p_messages, v_start, v_length));
            SET v_start = v_start + v_length, v_seq = v_seq + 1, v_place = v_place + ${WIDTH};
          END WHILE;
        END IF;
        COMMIT;
        SELECT v_session IS NOT NULL AS appended;
      END`);
  } catch (error) {
    if (!isOneOf(UNNEEDED, error)) throw error;
  }
}

function isOneOf(numbers: ReadonlySet<number>, error: unknown): boolean {
  const { errno } = error as { errno?: number };
  return errno !== undefined && numbers.has(errno);
}
