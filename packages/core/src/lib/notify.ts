import { errorText } from './text.js';
import { warn } from './warn.js';

/**
 * Calls a listener, such as `onCompaction`. If it throws or rejects, a warning is logged and the caller continues.
 *
 * @param name The listener's name in the warning.
 * @param failed Receives the warning. Default {@link warn}.
 */
export function notify<Event>(
  name: string,
  listener: ((event: Event) => unknown) | undefined,
  event: Event,
  failed: (message: string) => void = warn,
): void {
  const report = (error: unknown) => failed(`${name} threw: ${errorText(error)}`);
  try {
    const result = listener?.(event) as PromiseLike<unknown> | undefined;
    // Only wrap actual promises, because a promise per event would cost more than most listeners.
    if (typeof result?.then === 'function') Promise.resolve(result).catch(report);
  } catch (error) {
    report(error);
  }
}
