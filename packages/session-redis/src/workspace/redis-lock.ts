import { setTimeout as sleep } from 'node:timers/promises';
import { WorkspaceError } from '@x/core';
import { type HeldLock, operationId } from '@x/core/store';
import { keepLockScript, releaseScript, takeLockScript } from '../scripts/lease.js';
import { runScript, type Script, type ScriptClient } from '../scripts/run-script.js';
import { asWorkspaceError } from './workspace-failure.js';

const DEFAULT_TIMEOUT_MS = 10_000;
/** Milliseconds without a heartbeat after which the lock of a holder expires. */
const SILENCE_MS = 30_000;
const HEARTBEAT_MS = 5_000;
const LONGEST_POLL_MS = 50;

/**
 * Runs `task` while no other holder has the lock at `key`.
 *
 * The lock expires when its holder has sent no heartbeat for 30 seconds, so a crash blocks others for no longer than that. If a holder
 * was suspended for so long, `check` throws when it continues.
 *
 * @throws {WorkspaceError} `locked` when the lock was not acquired within `timeoutMs` (default 10 000).
 */
export async function withRedisLock<T>(
  client: ScriptClient,
  key: string,
  name: string,
  task: (lock: HeldLock) => Promise<T>,
  timeoutMs = DEFAULT_TIMEOUT_MS,
): Promise<T> {
  const holder = operationId();
  const run = (script: Script, ...values: string[]) =>
    asWorkspaceError(name, () => runScript(client, script, [key], [holder, ...values]));
  const silence = String(SILENCE_MS);
  const deadline = performance.now() + timeoutMs;
  for (let pause = 1; ; pause = Math.min(2 * pause, LONGEST_POLL_MS)) {
    if (Number(await run(takeLockScript, silence)) === 1) break;
    const rest = deadline - performance.now();
    if (rest <= 0) throw unavailable(name, timeoutMs);
    await sleep(Math.min(rest, pause * (0.5 + Math.random())));
  }
  const keep = () => run(keepLockScript, silence);
  // A failed heartbeat needs no handling, because `check` finds out whether the lock was lost.
  const beat = setInterval(() => void keep().catch(() => {}), HEARTBEAT_MS).unref();
  const check = async () => {
    if (Number(await keep()) !== 1) throw lost(name);
  };
  try {
    return await task({ check });
  } finally {
    clearInterval(beat);
    // If the release fails, the lock expires.
    await run(releaseScript).catch(() => {});
  }
}

function unavailable(name: string, timeoutMs: number): WorkspaceError {
  return new WorkspaceError(
    'locked',
    name,
    `The lock ${JSON.stringify(name)} is held by another task or process, which did not release it within ${timeoutMs} ms. ` +
      'Try again later, or increase timeoutMs.',
  );
}

function lost(name: string): WorkspaceError {
  return new WorkspaceError(
    'locked',
    name,
    `The lock ${JSON.stringify(name)} was lost: this process was silent for more than ${SILENCE_MS / 1000} s. Nothing ` +
      'further was written. Read the current state and try again.',
  );
}
