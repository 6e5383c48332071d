import type { AgentState, JsonObject, JsonValue, Model, Pin } from '@x/core';
import { isObject, systemClock } from '@x/core/internal';
import { readPin } from '../run/pins.js';

/** Milliseconds after its last step at which a session is forgotten, with its narrative. */
export const IDLE_MS = 30 * 60_000;

/** This package's key in a state's `extensions`. */
const EXTENSION = 'compaction';

/** The notes of this package in a state. */
export function notesIn(state: AgentState): JsonObject {
  return state.extensions[EXTENSION] ?? {};
}

/**
 * Changes notes; `undefined` removes one.
 *
 * @returns A function that restores the changed notes. Other notes keep later changes.
 */
export function changeNotes(
  state: AgentState,
  changes: Readonly<Record<string, JsonValue | undefined>>,
): () => void {
  const { [EXTENSION]: notes = {} } = state.extensions;
  const previous = Object.fromEntries(Object.keys(changes).map((key) => [key, notes[key]]));
  const changed = Object.entries({ ...notes, ...changes });
  const left = changed.filter((entry): entry is [string, JsonValue] => entry[1] !== undefined);
  if (left.length > 0) state.extensions[EXTENSION] = Object.fromEntries(left);
  else delete state.extensions[EXTENSION];
  return () => void changeNotes(state, previous);
}

/** A report is plausible if it differs from our own count by at most this factor. */
const FACTOR = 3;
/** Weight of one report in the smoothed ratio. */
const RATE = 0.3;

/**
 * Returns the ratio of the tokens that the provider reports to those that we count, for this model. It is stored in the state, so that a
 * resumed session counts correctly from its first step. 1 before the first report.
 */
export function calibrationOf(state: AgentState, model: Model): number {
  const ratio = numberIn(state, 'calibration', model);
  return ratio !== undefined && isPlausible(ratio) ? ratio : 1;
}

/** Tests if a ratio of reported to counted tokens is plausible. */
export function isPlausible(ratio: number): boolean {
  return ratio >= 1 / FACTOR && ratio <= FACTOR;
}

/**
 * Updates the ratio with a provider's report, unless it is implausible. Reports are smoothed, so that a single wrong report changes little.
 *
 * @param rate Weight of the report. 1 replaces the ratio, for exact measurements.
 */
export function calibrate(
  state: AgentState,
  model: Model,
  reported: number,
  counted: number,
  rate = RATE,
): void {
  const sample = reported / counted;
  if (!isPlausible(sample)) return;
  const known = numberIn(state, 'calibration', model);
  const next = known === undefined ? sample : known + rate * (sample - known);
  // Rounded to two digits, so that tiny changes do not cause another save of the state.
  note(state, 'calibration', model, Math.round(next * 100) / 100);
}

/** Returns the window that the provider reported when it rejected a request, in the provider's tokens. */
export function toldWindow(state: AgentState, model: Model): number | undefined {
  return numberIn(state, 'windows', model);
}

/** Stores the window that a provider reported. */
export function learnWindow(state: AgentState, model: Model, tokens: number): void {
  note(state, 'windows', model, Math.floor(tokens));
}

/** Number of compactions after which a learned window is forgotten. It is forgotten only once. */
const TRIALS = 8;

/**
 * Counts a compaction with a learned window. After some, forgets the window, because a gateway may have sent a single request to a smaller
 * server. If the window is learned again, it stays.
 */
export function doubtWindow(state: AgentState, model: Model): void {
  const trials = numberIn(state, 'trials', model) ?? 0;
  if (toldWindow(state, model) === undefined || trials >= TRIALS) return;
  note(state, 'trials', model, trials + 1);
  if (trials + 1 < TRIALS) return;
  const { [model.id]: _, ...windows } = notesOf(state, 'windows');
  changeNotes(state, { windows });
}

/** Notes about models, by model id. */
type ModelNote = 'calibration' | 'windows' | 'trials';

function numberIn(state: AgentState, key: ModelNote, { id }: Model): number | undefined {
  const value = notesOf(state, key)[id];
  return typeof value === 'number' && value > 0 ? value : undefined;
}

function note(state: AgentState, key: ModelNote, { id }: Model, value: number): void {
  const notes = notesOf(state, key);
  if (notes[id] !== value) changeNotes(state, { [key]: { ...notes, [id]: value } });
}

function notesOf(state: AgentState, key: ModelNote): JsonObject {
  const notes = notesIn(state)[key];
  return isObject(notes) ? notes : {};
}

/**
 * Returns the tokens that the request must reach before the next reduction. An undo sets them, so that the undone reduction is not repeated
 * at once. They are stored in the state, because an undo and the next call may run in different processes. The next reduction clears them.
 */
export function heldUntil(state: AgentState): number {
  const tokens = notesIn(state).heldUntil;
  return typeof tokens === 'number' ? tokens : 0;
}

/**
 * Tests if another process has started the narrative of the next compaction, and may still have it. The note `writing`, which has the time
 * of the start, keeps this process from starting it too. A compaction or an undo clears the note.
 *
 * @param own The note that this process wrote last.
 */
export function isWritingElsewhere(state: AgentState, own: number | undefined): boolean {
  const { writing } = notesIn(state);
  return typeof writing === 'number' && writing !== own && systemClock.now() - writing < IDLE_MS;
}

/** The pins of a session, the newest first. */
export function pinsIn(state: AgentState): readonly Pin[] {
  const { pins } = notesIn(state);
  return Array.isArray(pins) ? pins.flatMap(readPin) : [];
}
