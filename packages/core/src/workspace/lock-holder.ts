import { digest } from '../lib/digest.js';
import { encodeSegment } from '../lib/encode-segment.js';

/** A process, distinguishable from a later one with the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it began, as the kernel counts; empty where the platform does not tell. */
  readonly started: string;
  /** The space in which `pid` means something: a machine since it booted, or a container on it. */
  readonly host: string;
}

/** The holder of a lock: a process, and a token for this one time. */
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

let current: ProcessIdentity | undefined;
/** A browser has no processes. */
const files = typeof process === 'object' ? process.getBuiltinModule?.('node:fs') : undefined;

/** The process that runs this. */
export function thisProcess(): ProcessIdentity {
  current ??=
    files === undefined
      ? { pid: 0, started: '', host: '' }
      : { pid: process.pid, started: startOf(process.pid) ?? '', host: hostIdentity() };
  return current;
}

/** Tests whether a process has ended; `undefined` when this host cannot see it. */
export function hasEnded(identity: ProcessIdentity): boolean | undefined {
  if (files === undefined || identity.host !== thisProcess().host) return undefined;
  try {
    process.kill(identity.pid, 0);
  } catch (error) {
    // EPERM: the process exists, and belongs to another user.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return true;
  }
  const started = startOf(identity.pid);
  return started !== undefined && started !== identity.started;
}

/** The kernel's start time of a living process, '' for one that only waits to be reaped; `undefined` when unknown. */
function startOf(pid: number): string | undefined {
  // proc(5): the name, in parentheses, may contain anything; then come the state (3rd field) and the start (22nd).
  const stat = tryRead(() => files?.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const [state, ...rest] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  if (state === undefined) return undefined;
  return state === 'Z' || state === 'X' ? '' : rest[18];
}

/** The host's name; and, on Linux, what tells a reboot and a container's own process numbers from the host's. */
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
