import type { AgentState } from '@x/core';

const EXTENSION = 'compaction';

/**
 * No reduction before the request has this many tokens: what was undone is not done again at once. Kept in the state,
 * because an undo and the next call may happen in different processes; the next reduction forgets it.
 */
export function holdOff(state: AgentState, untilTokens: number): void {
  state.extensions[EXTENSION] = { ...state.extensions[EXTENSION], heldUntil: Math.ceil(untilTokens) };
}

/** The tokens set by {@link holdOff}; 0 when there are none. */
export function heldUntil(state: AgentState): number {
  const tokens = state.extensions[EXTENSION]?.heldUntil;
  return typeof tokens === 'number' ? tokens : 0;
}
