import type { ProcessIdentity } from './process-identity.js';

/** Who holds a lock: a process, and a token for this one time. */
export interface LockHolder extends ProcessIdentity {
  readonly token: string;
}

const FORMAT = /^(\d+)~(\d*)~([0-9a-f-]{36})~([a-z0-9_.%+-]*)$/;

/** The holder as one file name. */
export function formatHolder({ pid, started, token, host }: LockHolder): string {
  return `${pid}~${started}~${token}~${host}`;
}

/** The inverse of {@link formatHolder}; `undefined` for any other name. */
export function parseHolder(name: string): LockHolder | undefined {
  const [, pid, started, token, host] = FORMAT.exec(name) ?? [];
  if (pid === undefined || started === undefined || token === undefined || host === undefined)
    return undefined;
  return { pid: Number(pid), started, token, host };
}
