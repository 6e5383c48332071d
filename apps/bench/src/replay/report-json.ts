import type { ReplaySetting } from '@x/replay';
import { relativePrices } from '@x/replay';
import { figuresOf } from './figures.js';
import { OVERHEAD, type ReplayedConversation } from './run-replay.js';

/** A run as data: its definitions, and every conversation by strategy. */
export function toJson(
  conversations: readonly ReplayedConversation[],
  strategies: readonly string[],
  { window, trigger, counter }: ReplaySetting,
): object {
  return {
    window,
    trigger,
    overhead: OVERHEAD,
    prices: relativePrices,
    counter: counter.name,
    strategies: strategies.map((name) => ({
      name,
      reachingTrigger: figuresOf(
        conversations.filter(({ reachesTrigger }) => reachesTrigger),
        name,
      ),
      all: figuresOf(conversations, name),
      conversations: conversations.map((conversation) => ({
        name: conversation.recording.name,
        domain: conversation.recording.domain,
        source: conversation.recording.source,
        reachesTrigger: conversation.reachesTrigger,
        ...figuresOf([conversation], name),
      })),
    })),
  };
}
