import type { Message } from '@x/core';

/** A later tool call uses a name that was last mentioned long before. */
export interface Probe {
  readonly token: string;
  /** Index of the message with the tool call. */
  readonly callIndex: number;
  /** Index of the message that mentioned the token last before the call. */
  readonly lastIndex: number;
  /** Tokens between the two. */
  readonly gapTokens: number;
}

/** A recorded conversation with what it later needed again. */
export interface Recording {
  readonly name: string;
  readonly domain: string;
  readonly source: string;
  /** What the agent was told; the replay sends it with every request, ahead of the messages. */
  readonly system: string;
  readonly messages: readonly Message[];
  readonly probes: readonly Probe[];
}
