import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Lends a folder that is gone afterwards, also when `use` throws. A signal that would end this process first aborts `stopped`, on
 * which `use` has to return or throw soon; then the folder is removed, and the process ends by that signal.
 */
export async function withTemporaryFolder<Result>(
  use: (folder: string, stopped: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  let received: NodeJS.Signals | undefined;
  const stop = (signal: NodeJS.Signals) => {
    received ??= signal;
    controller.abort(new Error(`Stopped by ${signal}.`));
  };
  // Until the folder is gone, a second Ctrl-C changes nothing.
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    const folder = await mkdtemp(join(tmpdir(), 'x-bench-'));
    try {
      return await use(folder, controller.signal);
    } finally {
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
    if (received !== undefined) process.kill(process.pid, received);
  }
}
