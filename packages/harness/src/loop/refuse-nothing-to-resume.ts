import type { AgentState } from '@x/core';
import { HarnessError } from '../errors/harness-error.js';
import { openCalls } from './open-calls.js';
import { repairPairing } from './pairing.js';

/** @throws {HarnessError} `nothing_to_resume` when the session is new, holds nothing to be sent, or ended in an orderly way. */
export function refuseNothingToResume(state: AgentState, isNew: boolean): void {
  const last = state.context.at(-1);
  const isOpen =
    state.activeCall !== undefined ||
    last?.role === 'tool' ||
    last?.role === 'user' ||
    openCalls(state.context).length > 0;
  // What cannot be sent, results without their calls, leaves nothing to ask a model about.
  const isEmpty = repairPairing(state.context, true).length === 0;
  if (!isNew && isOpen && !isEmpty) return;
  throw new HarnessError('nothing_to_resume', `Session "${state.sessionId}" ${why(isNew, isEmpty)}`);
}

function why(isNew: boolean, isEmpty: boolean): string {
  if (isNew) return 'does not exist; begin it with call().';
  if (isEmpty) return 'holds nothing that a model could be sent; go on with call().';
  return 'ended in an orderly way; go on with call().';
}
