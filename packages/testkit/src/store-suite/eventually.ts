import { setImmediate as nextTask } from 'node:timers/promises';

/** Asks until there is an answer. Lets timers run in between, so that the time limit of the test can end it. */
export async function eventually<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await nextTask();
  }
}
