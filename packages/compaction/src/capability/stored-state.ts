import type { AgentState, Model } from '@x/core';
import { isObject } from '../conversation/marks.js';

const EXTENSION = 'compaction';
const LOWEST = 0.5;
const HIGHEST = 3;
/** How far one report moves the ratio. */
const RATE = 0.3;

/**
 * Tokens that the provider reported for each that we counted, for this model. Kept in the state, so that a resumed
 * session counts right from its first step. 1 until there was a report.
 */
export function calibrationOf(state: AgentState, model: Model): number {
  const ratio = stored(state)[model.id];
  return typeof ratio === 'number' && ratio >= LOWEST && ratio <= HIGHEST ? ratio : 1;
}

/** Takes a provider's report into account. Bounded and smoothed: one odd report changes little. */
export function calibrate(state: AgentState, model: Model, reported: number, counted: number): void {
  if (!(reported > 0 && counted > 0)) return;
  const known = stored(state)[model.id];
  const sample = Math.min(HIGHEST, Math.max(LOWEST, reported / counted));
  const next = typeof known === 'number' ? known + RATE * (sample - known) : sample;
  // Two digits: the state is stored when it changes, and it need not change for less.
  const rounded = Math.round(next * 100) / 100;
  if (rounded === known) return;
  state.extensions[EXTENSION] = {
    ...state.extensions[EXTENSION],
    calibration: { ...stored(state), [model.id]: rounded },
  };
}

function stored(state: AgentState) {
  const calibration = state.extensions[EXTENSION]?.calibration;
  return isObject(calibration) ? calibration : {};
}
