import { leaseLost, operationId, parseWith, type SessionKey, type SessionLease } from '@x/core';
import type { Pool, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import * as z from 'zod';
import { execute } from './execute.js';
import { hashKey } from './hash-key.js';
import { fromToken, type Statements } from './statements.js';
import { attempt } from './store-error.js';

const optionsSchema = z.strictObject({
  /** At most what a timer can wait for that renews it. */
  ttlMs: z
    .int()
    .min(1)
    .max(2 ** 31 - 1),
});

interface FenceRow extends RowDataPacket {
  readonly fence: number | string;
}

/**
 * A lease as a row: its time runs by the server's clock alone, so the clocks of its holders need not agree.
 *
 * @see Kleppmann, "How to do distributed locking" (2016), for the fence.
 */
export class MysqlLease implements SessionLease {
  readonly fence: number;
  readonly ttlMs: number;
  readonly #pool: Pool;
  readonly #statements: Statements;
  readonly #key: SessionKey;
  readonly #holder: Buffer;

  private constructor(grant: {
    readonly pool: Pool;
    readonly statements: Statements;
    readonly key: SessionKey;
    readonly holder: Buffer;
    readonly fence: number;
    readonly ttlMs: number;
  }) {
    this.fence = grant.fence;
    this.ttlMs = grant.ttlMs;
    this.#pool = grant.pool;
    this.#statements = grant.statements;
    this.#key = grant.key;
    this.#holder = grant.holder;
  }

  /** The lease; `undefined` while somebody else has it. */
  static async take(
    pool: Pool,
    statements: Statements,
    key: SessionKey,
    options: { readonly ttlMs: number },
  ): Promise<MysqlLease | undefined> {
    const { ttlMs } = parseWith(optionsSchema, options, 'lease options');
    // Names this grant, so that an attempt that follows a lost reply knows its own.
    const holder = fromToken(operationId());
    const hash = hashKey(key);
    await attempt(key, () => execute(pool, statements.lease, [hash, holder, ttlMs]));
    const [row] = await attempt(key, () => execute<FenceRow[]>(pool, statements.fenceOf, [hash, holder]));
    if (row === undefined) return undefined;
    return new MysqlLease({ pool, statements, key, holder, fence: Number(row.fence), ttlMs });
  }

  async renew(): Promise<void> {
    const { affectedRows } = await attempt(this.#key, () =>
      execute<ResultSetHeader>(this.#pool, this.#statements.renew, [
        this.ttlMs,
        hashKey(this.#key),
        this.#holder,
      ]),
    );
    if (affectedRows > 0) return;
    throw leaseLost(this.#key);
  }

  async release(): Promise<void> {
    await attempt(this.#key, () =>
      execute(this.#pool, this.#statements.release, [hashKey(this.#key), this.#holder]),
    );
  }
}
