import type { AgentState, JsonObject, JsonValue, Model } from '@x/core';
import { isObject } from '@x/core/internal';

/** The key under which this package keeps its notes in a state's extensions. */
const EXTENSION = 'compaction';

/** The notes of this package in a state. */
export function notesIn(state: AgentState): JsonObject {
  return state.extensions[EXTENSION] ?? {};
}

/**
 * Changes notes; `undefined` removes one.
 *
 * @returns A function that restores the notes as they were.
 */
export function changeNotes(
  state: AgentState,
  changes: Readonly<Record<string, JsonValue | undefined>>,
): () => void {
  const previous = state.extensions[EXTENSION];
  const entries = Object.entries({ ...previous, ...changes });
  state.extensions[EXTENSION] = Object.fromEntries(
    entries.filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
  return () => {
    if (previous === undefined) delete state.extensions[EXTENSION];
    else state.extensions[EXTENSION] = previous;
  };
}

const LOWEST = 0.5;
const HIGHEST = 3;
/** The share by which one report moves the ratio. */
const RATE = 0.3;

/**
 * Tokens that the provider reported for each that we counted, for this model. Kept in the state, so that a resumed
 * session counts right from its first step. 1 until there was a report.
 */
export function calibrationOf(state: AgentState, model: Model): number {
  const ratio = ratiosIn(state)[model.id];
  return typeof ratio === 'number' && ratio >= LOWEST && ratio <= HIGHEST ? ratio : 1;
}

/** Takes a provider's report into account. Bounded and smoothed: one odd report changes little. */
export function calibrate(state: AgentState, model: Model, reported: number, counted: number): void {
  if (!(reported > 0 && counted > 0)) return;
  const known = ratiosIn(state)[model.id];
  const sample = Math.min(HIGHEST, Math.max(LOWEST, reported / counted));
  const next = typeof known === 'number' ? known + RATE * (sample - known) : sample;
  // Two digits: the state is stored when it changes, and it need not change for less.
  const rounded = Math.round(next * 100) / 100;
  if (rounded === known) return;
  changeNotes(state, { calibration: { ...ratiosIn(state), [model.id]: rounded } });
}

function ratiosIn(state: AgentState): JsonObject {
  const { calibration } = notesIn(state);
  return isObject(calibration) ? calibration : {};
}

/**
 * No reduction before the request has this many tokens: what was undone is not done again at once. Kept in the state,
 * because an undo and the next call may happen in different processes; the next reduction forgets it.
 */
export function holdOff(state: AgentState, untilTokens: number): void {
  changeNotes(state, { heldUntil: Math.ceil(untilTokens) });
}

/** The tokens set by {@link holdOff}; 0 when there are none. */
export function heldUntil(state: AgentState): number {
  const tokens = notesIn(state).heldUntil;
  return typeof tokens === 'number' ? tokens : 0;
}
