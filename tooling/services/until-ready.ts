import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits until `ping` resolves.
 *
 * @throws {Error} if `ping` still rejects after `milliseconds` (default 120 000). The last rejection is the cause.
 */
export async function untilReady(ping: () => Promise<void>, milliseconds = 120_000): Promise<void> {
  const deadline = performance.now() + milliseconds;
  for (;;) {
    try {
      return await ping();
    } catch (cause) {
      if (performance.now() > deadline) {
        throw new Error(`no answer within ${milliseconds / 1000} s: ${cause}`, { cause });
      }
      await sleep(25);
    }
  }
}
