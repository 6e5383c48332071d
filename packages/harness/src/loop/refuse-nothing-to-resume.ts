import type { AgentState } from '@x/core';
import { HarnessError } from '../errors/harness-error.js';
import { openCalls } from './open-calls.js';

/** @throws {HarnessError} `nothing_to_resume` when the session is new or ended in an orderly way. */
export function refuseNothingToResume(state: AgentState, isNew: boolean): void {
  const last = state.context.at(-1);
  const isOpen =
    state.activeCall !== undefined ||
    last?.role === 'tool' ||
    last?.role === 'user' ||
    openCalls(state.context).length > 0;
  if (!isNew && isOpen) return;
  throw new HarnessError(
    'nothing_to_resume',
    isNew
      ? `Session "${state.sessionId}" does not exist; begin it with call().`
      : `Session "${state.sessionId}" ended in an orderly way; go on with call().`,
  );
}
