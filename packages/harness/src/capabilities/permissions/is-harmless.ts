import type { Tool } from '@x/core';

/** Whether a tool says of itself that it changes nothing, or nothing but the session's own notes, and destroys nothing. */
export function isHarmless({ readOnly, sessionOnly, destructive }: Tool): boolean {
  return readOnly || (sessionOnly === true && destructive !== true);
}
