import { errorText } from './text.js';
import { warn } from './warn.js';

/**
 * Tells a listener, such as `onCompaction`. One that throws or rejects costs a warning, never what it is told of.
 *
 * @param name What the warning calls it.
 * @param failed Takes the warning. Default {@link warn}.
 */
export function tell<Event>(
  name: string,
  listener: ((event: Event) => unknown) | undefined,
  event: Event,
  failed: (message: string) => void = warn,
): void {
  const report = (error: unknown) => failed(`${name} threw: ${errorText(error)}`);
  try {
    const told = listener?.(event) as PromiseLike<unknown> | undefined;
    // A promise for each event would cost more than most listeners do.
    if (typeof told?.then === 'function') Promise.resolve(told).catch(report);
  } catch (error) {
    report(error);
  }
}
