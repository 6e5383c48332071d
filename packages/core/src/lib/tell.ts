import { errorText } from './text.js';
import { warn } from './warn.js';

/**
 * Tells a listener, such as `onCompaction`. One that throws or rejects costs a warning, never what it is told of.
 *
 * @param name What a warning calls it.
 */
export function tell<Event>(
  name: string,
  listener: ((event: Event) => unknown) | undefined,
  event: Event,
): void {
  const failed = (error: unknown) => warn(`${name} threw: ${errorText(error)}`);
  try {
    Promise.resolve(listener?.(event)).catch(failed);
  } catch (error) {
    failed(error);
  }
}
