import { createHash } from 'node:crypto';

/** Returns an id that is the same in every run. It is as long as the random ids of a live agent, because stubs contain ids. */
export function stableId(seed: string): string {
  const digits = createHash('sha256').update(seed).digest('hex');
  return digits.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
