import type { SqlWrite } from '@x/core/internal';
import type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';
import { execute } from './execute.js';
import { MAX_BYTES, MAX_ROWS, sizeOf } from './packets.js';
import { fromToken, REMEMBER } from './statements.js';

/** Error codes of servers without procedures: a syntax error, an unknown error, not supported. */
const NO_PROCEDURES = [1064, 1105, 1235];
/** Error codes of creating the procedure that are ignored: it exists, or the user has no right to create it. */
const UNNEEDED = new Set([1304, 1044, 1142, 1227, 1370, 1419, ...NO_PROCEDURES]);
/** Error codes of calling the procedure: it does not exist, or the user has no right to call it. */
const NOT_CALLABLE = new Set([1305, 1370, ...NO_PROCEDURES]);

/** Digits of a message's length in `p_lengths`. */
const WIDTH = 8;

interface OutcomeRow extends RowDataPacket {
  /** The new version; null if nothing was written. */
  readonly version: number | string | null;
}

/**
 * The common commit, which only appends, as a stored procedure. It takes one round trip instead of four, and locks the row only while
 * the server works. If the user may not create or call the procedure, commits work without it.
 *
 * The number in its name is its version. A release with another procedure uses another number, so that processes of older releases
 * keep using theirs.
 */
export class AppendProcedure {
  readonly #pool: Pool;
  readonly #call: string;
  #isCallable = true;

  constructor(pool: Pool, table: string) {
    this.#pool = pool;
    this.#call = `CALL \`${table}_append_1\`(?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  }

  /**
   * Applies the change if it only appends to the expected version, and returns the new version. Returns `undefined` if nothing was
   * written; then the caller runs the general commit, which also finds conflicts.
   */
  async append({
    id,
    change,
    head,
    description,
    messages: rows,
  }: SqlWrite<Buffer>): Promise<number | undefined> {
    const { expected, keep, fence, operation } = change;
    // Larger changes use several inserts, which make the extra round trips negligible.
    const bytes = sizeOf([head, description, ...rows]);
    if (
      !this.#isCallable ||
      expected === undefined ||
      keep < 1 ||
      rows.length > MAX_ROWS ||
      bytes > MAX_BYTES
    )
      return undefined;
    const lengths = rows.map(({ length }) => String(length).padStart(WIDTH, '0')).join('');
    const values = [
      id as Buffer,
      fromToken(expected),
      keep,
      fence ?? null,
      fromToken(operation),
      head,
      description,
      lengths,
    ];
    try {
      const [[outcome] = []] = await execute<OutcomeRow[][]>(this.#pool, this.#call, [
        ...values,
        Buffer.concat(rows),
      ]);
      return outcome?.version == null ? undefined : Number(outcome.version);
    } catch (error) {
      if (!isOneOf(NOT_CALLABLE, error)) throw error;
      this.#isCallable = false;
      return undefined;
    }
  }
}

/**
 * Creates the procedure, unless it exists or this user may not create it. It runs with the rights of its caller. All messages are one
 * value with a list of their lengths, because the number of parameters is fixed. The update stores the row's id and version in
 * variables, which is cheaper than a query; servers that reject such assignments create no procedure. Errors roll back before they
 * reach the caller, because a lock wait timeout would otherwise leave the transaction open.
 */
export async function createAppendProcedure(connection: PoolConnection, table: string): Promise<void> {
  try {
    await connection.query(`
      CREATE PROCEDURE \`${table}_append_1\` (
        p_key BINARY(32), p_expected VARBINARY(64), p_keep INT UNSIGNED, p_fence BIGINT UNSIGNED,
        p_operation BINARY(12), p_head LONGBLOB, p_description LONGBLOB, p_lengths LONGBLOB, p_messages LONGBLOB)
      SQL SECURITY INVOKER
      BEGIN
        DECLARE v_session, v_version, v_fence, v_length BIGINT UNSIGNED;
        DECLARE v_seq INT UNSIGNED DEFAULT p_keep;
        DECLARE v_start, v_place BIGINT UNSIGNED DEFAULT 1;
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
        START TRANSACTION;
        IF p_fence IS NOT NULL THEN
          SELECT fence INTO v_fence FROM \`${table}_leases\` WHERE key_hash = p_key LOCK IN SHARE MODE;
        END IF;
        IF p_fence <=> v_fence THEN
          UPDATE \`${table}\` SET version = (@x_version := version + 1),
            message_count = p_keep + LENGTH(p_lengths) DIV ${WIDTH}, bytes = bytes + LENGTH(p_messages), head = p_head,
            description = p_description, ${REMEMBER('p_operation')},
            updated_at = UTC_TIMESTAMP(3)
          WHERE key_hash = p_key AND operation = p_expected AND message_count = p_keep AND LAST_INSERT_ID(id);
          IF ROW_COUNT() = 1 THEN
            SET v_session = LAST_INSERT_ID(), v_version = @x_version;
          END IF;
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
        SELECT v_version AS version;
      END`);
  } catch (error) {
    if (!isOneOf(UNNEEDED, error)) throw error;
  }
}

function isOneOf(numbers: ReadonlySet<number>, error: unknown): boolean {
  const { errno } = error as { errno?: number };
  return errno !== undefined && numbers.has(errno);
}
