import type { Message, PendingCall, StopReason, Usage } from '@x/core';

/** What a call ends with. */
export interface Reply {
  readonly sessionId: string;
  /** Text of the last assistant message. */
  readonly text: string;
  /** The last assistant message, or `undefined` when the call stopped before there was one. */
  readonly message: Message | undefined;
  /** Tokens of all model calls of this call, retries left out. */
  readonly usage: Usage;
  readonly stopReason: StopReason;
  /** The tool calls that wait for a human; none unless the stop reason is `permission_required`. */
  readonly pendingCalls: readonly PendingCall[];
  /** Reasoning steps taken. */
  readonly steps: number;
  /** The validated answer, when the call asked for one with `output` and was completed. */
  readonly output?: unknown;
}

/** What a call ends with that asked for an answer of a certain form. It has one if, and only if, it was completed. */
export type OutputReply<Output> = Reply &
  (
    | { readonly stopReason: 'completed'; readonly output: Output }
    | { readonly stopReason: Exclude<StopReason, 'completed'>; readonly output?: undefined }
  );
