import type { DriverFailure } from '@x/core/internal';

/** The fields of a driver's error that this package reads. */
interface DriverError extends Error {
  readonly errno?: number;
  readonly fatal?: boolean;
}

/** Error codes of an unknown column or table. */
const MISSING = new Set([1054, 1146]);
/**
 * Transient error codes: too many connections, lock wait timeout, deadlock, row changed since the snapshot (MariaDB), server shutdown,
 * connection killed.
 */
const TRANSIENT = new Set([1040, 1203, 1205, 1213, 1020, 1053, 1927]);
/** Error codes of a server that is read-only because it is a replica. */
const READ_ONLY = new Set([1290, 1792, 1836]);
/** Error codes after which the statement certainly had no effect. */
const REFUSED = new Set([
  1021, 1040, 1044, 1045, 1054, 1114, 1142, 1146, 1153, 1203, 1205, 1213, 1226, 1290, 1305, 1366, 1370, 1406,
  1792, 1836, 3024,
]);

/** Classifies an error of the driver. */
export function judge(error: DriverError): DriverFailure {
  const { errno = 0, fatal = false } = error;
  return {
    isTransient: fatal || TRANSIENT.has(errno) || isReadOnly(error),
    isRefused: REFUSED.has(errno) && !fatal,
    isMissing: MISSING.has(errno),
  };
}

/** Tests if the server is read-only, as after a failover that made it a replica. */
export function isReadOnly(error: unknown): boolean {
  return READ_ONLY.has((error as DriverError).errno ?? 0);
}
