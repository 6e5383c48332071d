import { XError } from '@x/core';
import { type DriverFailure, namedValues, type RunSql } from '@x/core/internal';
import type { Pool, PoolClient } from 'pg';

/** The fields of a driver's error that this package reads. */
interface DriverError extends Error {
  /** Five characters from the server, or the name of a system error. */
  readonly code?: string;
}

/**
 * Transient error codes: serialization failures, deadlocks, lock timeouts, too many connections, a server that stops or starts or is now a
 * replica, lost connections.
 */
const TRANSIENT = /^(40001|40P01|53300|55P03|57P0[123]|25006|08\w{3}|ECONNRESET|EPIPE)$/;
const MISSING = /^(42P01|42703)$/;

/** Classifies an error of the driver. */
export function judge({ code = '', message }: DriverError): DriverFailure {
  return {
    isTransient: TRANSIENT.test(code) || /^Connection terminated/.test(message),
    isRefused: /^[0-9A-Z]{5}$/.test(code) && !/^(08|57P|57014|EPIPE)/.test(code),
    isMissing: MISSING.test(code),
  };
}

const bind = namedValues((position) => `$${position}`);

/**
 * Runs statements with named values on a connection.
 *
 * @param name The name of the prepared statement, which the server plans once per connection. Default: the statement is not prepared.
 */
export function runOn(connection: PoolClient, name?: string): RunSql {
  return async (statement, named) => {
    const { text, values } = bind(statement, named);
    const { rows, rowCount } = await connection.query({ name, text, values: [...values] });
    return { rows, changed: rowCount ?? 0 };
  };
}

const watched = new WeakSet<Pool>();
/** Handles the error event of a connection. The statement that runs on the connection fails, too, and reports the error. */
const ignore = () => {};

/**
 * Adds an error listener before the pool hands out a connection. Without it, an error that arrives together with the end of the
 * handshake, or of another statement, would have no listener and would end the process.
 */
function watch(connection: PoolClient): void {
  if (!connection.listeners('error').includes(ignore)) connection.on('error', ignore);
}

/**
 * Runs a task on a connection of the pool, and returns the connection to the pool if it is still usable.
 *
 * @param isUrgent Does not wait if all connections are in use, but opens one above the limit of the pool and closes it afterwards.
 */
export async function withConnection<T>(
  pool: Pool,
  task: (connection: PoolClient) => Promise<T>,
  isUrgent = false,
): Promise<T> {
  if (!watched.has(pool)) pool.on('acquire', watch);
  watched.add(pool);
  const { max } = pool.options;
  const isExtra = isUrgent && pool.idleCount === 0 && pool.totalCount >= max;
  // The pool compares its size with `max` before `connect` returns.
  if (isExtra) pool.options.max = Number.POSITIVE_INFINITY;
  const connecting = pool.connect();
  pool.options.max = max;
  const connection = await connecting;
  let isGood = !isExtra;
  try {
    return await task(connection);
  } catch (error) {
    const { code = '' } = error as DriverError;
    // If the server rejected the statement, the connection is still good, unless a failover made the server a replica.
    isGood &&=
      XError.isInstance(error) || (/^[0-9A-Z]{5}$/.test(code) && !/^(25006|57P..|EPIPE)$/.test(code));
    throw error;
  } finally {
    connection.release(!isGood);
  }
}

/** Runs a task in a new transaction, which is rolled back if the task throws. */
export function inTransaction<T>(pool: Pool, task: (run: RunSql) => Promise<T>): Promise<T> {
  return withConnection(pool, async (connection) => {
    await connection.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    try {
      const result = await task(runOn(connection));
      await connection.query('COMMIT');
      return result;
    } catch (error) {
      // If the rollback fails, the connection is closed, which rolls back as well.
      await connection.query('ROLLBACK').catch(() => {});
      throw error;
    }
  });
}
