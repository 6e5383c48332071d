import type { Model } from '@x/core';

/** Failures in a row after which a model is skipped. */
const FAILURES = 2;
/** Compactions that skip a model after it has failed too often. */
const RESTS = 4;

/** How a model has done lately, in all sessions: a provider that is down fails each of them. */
interface Standing {
  failures: number;
  /** Compactions that will still skip the model. */
  rests: number;
}

const standings = new WeakMap<Model, Standing>();

function standingOf(model: Model): Standing {
  const standing = standings.get(model) ?? { failures: 0, rests: 0 };
  standings.set(model, standing);
  return standing;
}

/**
 * Records how writing a narrative ended.
 *
 * @returns a warning if the model is skipped from now on.
 */
export function noteEnd(model: Model, problem: string | undefined): string | undefined {
  const standing = standingOf(model);
  standing.failures = problem === undefined ? 0 : standing.failures + 1;
  if (standing.failures < FAILURES) return undefined;
  standing.rests = RESTS;
  return (
    `${model.id} could not write the last ${standing.failures} summaries, counted over all sessions (${problem}). The next ${RESTS} ` +
    'compactions use the record alone; then the model is asked again. If this goes on, name another model as `model` of the compaction.'
  );
}

/** Tests if a model is skipped because it failed too often. */
export function isResting(model: Model): boolean {
  return standingOf(model).rests > 0;
}

/** Counts a compaction that skipped the model. */
export function countRest(model: Model): void {
  standingOf(model).rests--;
}
