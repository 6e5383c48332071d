import { XError } from '@x/core';
import { type DriverFailure, namedValues, type RunSql } from '@x/core/internal';
import type { Pool, PoolClient } from 'pg';

/** What the driver's errors say of themselves. */
interface DriverError extends Error {
  /** Five characters from the server, or the name of a failed system call's error. */
  readonly code?: string;
}

/** Another transaction was in the way, or the server ends, starts, or is a replica since a failover. */
const TRANSIENT = /^(40001|40P01|55P03|57P0[123]|25006|08\w{3}|ECONNRESET|EPIPE)$/;
const MISSING = /^(42P01|42703)$/;

/** Says what an error of the driver means. */
export function judge({ code = '', message }: DriverError): DriverFailure {
  return {
    isTransient: TRANSIENT.test(code) || /^Connection terminated/.test(message),
    isRefused: /^[0-9A-Z]{5}$/.test(code) && !/^(08|57P|EPIPE)/.test(code),
    isMissing: MISSING.test(code),
  };
}

const bind = namedValues((position) => `$${position}`);

/** Runs statements with named values on a connection. */
export function runOn(connection: PoolClient): RunSql {
  return async (statement, named) => {
    const { text, values } = bind(statement, named);
    const { rows, rowCount } = await connection.query(text, [...values]);
    return { rows, changed: rowCount ?? 0 };
  };
}

const watched = new WeakSet<Pool>();
/** What ends a connection fails the statement that runs on it, too. */
const ignore = () => {};

/**
 * Listens before the pool hands a connection out: an error that comes in one packet with the end of the handshake, or of
 * another's statement, would find no listener, and end the process.
 */
function watch(connection: PoolClient): void {
  if (!connection.listeners('error').includes(ignore)) connection.on('error', ignore);
}

/** Runs something on a separate connection, which others use afterwards if it is still good. */
export async function withConnection<T>(
  pool: Pool,
  task: (connection: PoolClient) => Promise<T>,
): Promise<T> {
  if (!watched.has(pool)) pool.on('acquire', watch);
  watched.add(pool);
  const connection = await pool.connect();
  let isGood = true;
  try {
    return await task(connection);
  } catch (error) {
    const { code = '' } = error as DriverError;
    // A refusal of the server is none of the connection's, unless a failover made the server a replica.
    isGood = XError.isInstance(error) || (/^[0-9A-Z]{5}$/.test(code) && !/^(25006|57P..|EPIPE)$/.test(code));
    throw error;
  } finally {
    connection.release(!isGood);
  }
}

/** Runs a task in a new transaction. If it throws, nothing of it remains. */
export function inTransaction<T>(pool: Pool, task: (run: RunSql) => Promise<T>): Promise<T> {
  return withConnection(pool, async (connection) => {
    await connection.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    try {
      const result = await task(runOn(connection));
      await connection.query('COMMIT');
      return result;
    } catch (error) {
      // Where this fails, too, the connection is closed, which rolls back as well.
      await connection.query('ROLLBACK').catch(() => {});
      throw error;
    }
  });
}
