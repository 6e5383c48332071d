import { digest } from '../lib/digest.js';
import { encodeSegment } from '../lib/encode-segment.js';

/** Identifies a process, and distinguishes it from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time of the process as its kernel counts; empty if the platform does not report it. */
  readonly started: string;
  /** The machine (since its last boot) or container in which `pid` is unique. */
  readonly host: string;
}

/** The holder of a lock: a process, and a token for this acquisition. */
export interface LockHolder extends ProcessIdentity {
  readonly token: string;
}

const FORMAT = /^(\d+)~(\d*)~([0-9a-f-]{36})~([a-z0-9_.%+-]*)$/;

/** Formats a holder as one file name. */
export function formatHolder({ pid, started, token, host }: LockHolder): string {
  return `${pid}~${started}~${token}~${host}`;
}

/** Parses a name of {@link formatHolder}; `undefined` for any other name. */
export function parseHolder(name: string): LockHolder | undefined {
  const [, pid, started, token, host] = FORMAT.exec(name) ?? [];
  if (pid === undefined || started === undefined || token === undefined || host === undefined)
    return undefined;
  return { pid: Number(pid), started, token, host };
}

let current: ProcessIdentity | undefined;
/** `node:fs`, or `undefined` in a browser, which has no processes. */
const files = typeof process === 'object' ? process.getBuiltinModule?.('node:fs') : undefined;

/** Returns the identity of the current process. */
export function thisProcess(): ProcessIdentity {
  current ??=
    files === undefined
      ? { pid: 0, started: '', host: '' }
      : { pid: process.pid, started: startOf(process.pid) ?? '', host: hostIdentity() };
  return current;
}

/** Tests if a process has ended; `undefined` if this host cannot see the process. */
export function hasEnded(identity: ProcessIdentity): boolean | undefined {
  if (files === undefined || identity.host !== thisProcess().host) return undefined;
  try {
    process.kill(identity.pid, 0);
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return true;
  }
  const started = startOf(identity.pid);
  return started !== undefined && started !== identity.started;
}

/** Returns the kernel's start time of a live process, '' for a zombie, `undefined` if unknown. */
function startOf(pid: number): string | undefined {
  // proc(5): the name, in parentheses, may contain anything. After it come the state (3rd field) and the start time (22nd).
  const stat = tryRead(() => files?.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const [state, ...rest] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  if (state === undefined) return undefined;
  return state === 'Z' || state === 'X' ? '' : rest[18];
}

/** Returns the host name with a hash. On Linux, the hash distinguishes boots, and the pid namespaces of containers. */
function hostIdentity(): string {
  const name = encodeSegment(process.getBuiltinModule('node:os').hostname()).slice(0, 80);
  const space = [
    tryRead(() => files?.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
    tryRead(() => files?.readlinkSync('/proc/self/ns/pid')),
  ];
  return `${name}+${digest(space.join()).slice(0, 12)}`;
}

function tryRead(read: () => string | undefined): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
