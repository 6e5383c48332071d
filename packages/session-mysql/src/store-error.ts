import type { DriverFailure } from '@x/core/internal';

/** What a driver's errors say of themselves. */
interface DriverError extends Error {
  readonly errno?: number;
  readonly fatal?: boolean;
}

/** An unknown column or table. */
const MISSING = new Set([1054, 1146]);
/**
 * Another transaction was in the way: lock wait timeout, deadlock, changed since the snapshot (MariaDB). Or the server
 * let go of the connection: shutdown, killed.
 */
const TRANSIENT = new Set([1205, 1213, 1020, 1053, 1927]);
/** It may not be written to: it is a replica. */
const READ_ONLY = new Set([1290, 1792, 1836]);
/** The server did nothing of the statement, for certain. */
const REFUSED = new Set([
  1021, 1040, 1044, 1045, 1054, 1114, 1142, 1146, 1153, 1203, 1205, 1213, 1226, 1290, 1305, 1366, 1370, 1406,
  1792, 1836, 3024,
]);

/** Says what an error of the driver means. */
export function judge(error: DriverError): DriverFailure {
  const { errno = 0, fatal = false } = error;
  return {
    isTransient: fatal || TRANSIENT.has(errno) || isReadOnly(error),
    isRefused: REFUSED.has(errno) && !fatal,
    isMissing: MISSING.has(errno),
  };
}

/** Whether the server may not be written to: a failover made it a replica. */
export function isReadOnly(error: unknown): boolean {
  return READ_ONLY.has((error as DriverError).errno ?? 0);
}
