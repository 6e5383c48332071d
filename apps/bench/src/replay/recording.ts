import type { Message } from '@x/core';
import type { LongRangeReference } from '@x/replay';

/** A recorded conversation with what it later needed again. */
export interface Recording {
  readonly name: string;
  readonly domain: string;
  readonly source: string;
  /** What the agent was told; the replay sends it with every request, ahead of the messages. */
  readonly system: string;
  readonly messages: readonly Message[];
  readonly probes: readonly LongRangeReference[];
}
