import { headOf } from '@x/core';

/** A thrown value in one line. */
export function describe(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return headOf(text.replaceAll(/\s+/g, ' ').trim(), 300);
}
