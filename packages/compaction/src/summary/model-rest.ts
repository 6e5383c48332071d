import type { Model } from '@x/core';

/** So many failures in a row … */
const FAILURES = 2;
/** … and so many compactions go by without the model. */
const RESTS = 4;

interface Standing {
  failures: number;
  /** Compactions that are still to go by. */
  rests: number;
}

const standings = new WeakMap<Model, Standing>();

function standingOf(model: Model): Standing {
  const standing = standings.get(model) ?? { failures: 0, rests: 0 };
  standings.set(model, standing);
  return standing;
}

/**
 * Notes how writing a narrative ended.
 *
 * @returns a warning when the model is left alone from now on.
 */
export function noteEnd(model: Model, problem: string | undefined): string | undefined {
  const standing = standingOf(model);
  standing.failures = problem === undefined ? 0 : standing.failures + 1;
  if (standing.failures < FAILURES) return undefined;
  standing.rests = RESTS;
  return (
    `${model.id} could not write a summary ${standing.failures} times in a row (${problem}). The next ${RESTS} compactions ` +
    'use the record alone; then the model is asked again. Name another model as `model` of the compaction if this goes on.'
  );
}

/** Tests if a model is left alone, because it failed too often. */
export function isResting(model: Model): boolean {
  return standingOf(model).rests > 0;
}

/** Counts a compaction that went by without the model. */
export function countRest(model: Model): void {
  standingOf(model).rests--;
}
