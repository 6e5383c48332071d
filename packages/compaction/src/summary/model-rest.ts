import type { Model } from '@x/core';
import { memoize } from '@x/core/internal';

/** Number of failures in a row after which a model is skipped. A provider's compaction has been retried by then. */
const FAILURES = { narrative: 2, native: 1 };
/** Number of compactions that skip a model after it has failed too often. */
const RESTS = 4;

/** What a model writes: a narrative, or a compaction that only its provider can read. */
export type Writes = 'narrative' | 'native';

/** Recent failures of a model, counted over all sessions, because a provider that is down fails in each of them. */
interface Standing {
  failures: number;
  /** Number of further compactions that will skip the model. */
  rests: number;
}

const fresh = (_: Model): Standing => ({ failures: 0, rests: 0 });
const standingOf = { narrative: memoize(fresh), native: memoize(fresh) };

/**
 * Records how a request to a model ended.
 *
 * @returns a warning if the model is skipped from now on.
 */
export function noteEnd(kind: Writes, model: Model, problem: string | undefined): string | undefined {
  const standing = standingOf[kind](model);
  standing.failures = problem === undefined ? 0 : standing.failures + 1;
  if (standing.failures < FAILURES[kind]) return undefined;
  standing.rests = RESTS;
  return (
    `${model.id} failed too often to write a summary, counted over all sessions (${problem}). The next ${RESTS} ` +
    'compactions skip it, then it is called again. If it keeps failing, set another model for compaction.'
  );
}

/** Tests if a model is skipped because it failed too often. */
export function isResting(kind: Writes, model: Model): boolean {
  return standingOf[kind](model).rests > 0;
}

/** Counts a compaction that skips the model, and says why. Returns `undefined` if the model is called. */
export function restOf(kind: Writes, model: Model): string | undefined {
  if (!isResting(kind, model)) return undefined;
  standingOf[kind](model).rests--;
  return `${model.id} failed too often and is skipped for now`;
}
