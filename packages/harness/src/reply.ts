import type { Message, StopReason, Usage } from '@x/core';

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
  /** Reasoning steps taken. */
  readonly steps: number;
}
