import {
  type CompactionOutcome,
  type CompactOptions,
  type Compactor,
  estimateCounter,
  type Message,
  toolResultsOf,
} from '@x/core';
import { countMessages } from '@x/core/messages';

/** The least that a compactor can do: the oldest messages go, calls with their results, until the rest fits. */
export class DroppingCompactor implements Compactor {
  async compact(messages: readonly Message[], options: CompactOptions = {}): Promise<CompactionOutcome> {
    return this.reduce(messages, options);
  }

  async plan(messages: readonly Message[], options: CompactOptions = {}): Promise<CompactionOutcome> {
    return this.reduce(messages, options);
  }

  protected reduce(messages: readonly Message[], options: CompactOptions): CompactionOutcome {
    if (options.signal?.aborted) return this.outcome('aborted', messages, messages);
    const limit = (options.contextWindow ?? 128_000) * 0.8;
    const request = messages.findLastIndex(
      (message) => message.role === 'user' && message.kind === undefined,
    );
    const ends = groupEnds(messages).filter((end) => end < messages.length);
    for (const end of [0, ...ends]) {
      const kept = messages.filter((_, index) => index >= end || index === request);
      if (countMessages(estimateCounter, kept) > limit) continue;
      return this.outcome(kept.length < messages.length ? 'applied' : 'skipped', messages, kept);
    }
    return this.outcome('ineffective', messages, messages);
  }

  protected outcome(
    status: CompactionOutcome['status'],
    before: readonly Message[],
    after: readonly Message[],
  ): CompactionOutcome {
    const kept = new Set(after);
    return {
      status,
      message: status === 'applied' ? 'dropped the oldest' : `it was ${status}`,
      messages: status === 'applied' ? after : before,
      steps: [],
      tokensBefore: countMessages(estimateCounter, before),
      tokensAfter: countMessages(estimateCounter, after),
      messagesBefore: before.length,
      messagesAfter: after.length,
      durationMs: 0,
      manifest: before
        .filter((message) => !kept.has(message))
        .map((message) => ({ messageId: message.id, fate: 'dropped', stage: 'dropOldest' })),
    };
  }
}

/** Where a list may be cut: in front of whatever is no result. */
function groupEnds(messages: readonly Message[]): number[] {
  return messages.flatMap((message, index) =>
    index > 0 && toolResultsOf(message).length === 0 ? [index] : [],
  );
}
