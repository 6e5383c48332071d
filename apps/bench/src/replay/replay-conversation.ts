import { countMessage, countMessages, type Message, type MessageFate } from '@x/core';
import { holdsToken } from './context-text.js';
import { pairingViolations } from './pairing-violations.js';
import type { Probe, Recording } from './recording.js';
import { sharedPrefix } from './shared-prefix.js';
import type { ReplaySetting, Strategy } from './strategy.js';

/** Prices in units of an uncached input token: read from the provider's cache, and sent anew (a cache write). */
export const PRICES = { cached: 0.1, fresh: 1.25 };

/** What became of one probe. */
export interface ProbeResult extends Probe {
  readonly retained: boolean;
  /** A reduction came between the last mention and the call. */
  readonly crossing: boolean;
  /** What became of the message that mentioned the token last; nothing when it is as it was. */
  readonly fate?: MessageFate | undefined;
}

/** What replaying one conversation through one strategy came to. All sizes in tokens. */
export interface ConversationResult {
  readonly probes: readonly ProbeResult[];
  /** Of all requests together, weighted by {@link PRICES}. */
  readonly cost: number;
  readonly calls: number;
  readonly reductions: number;
  readonly largestRequest: number;
  /** Requests larger than the window. */
  readonly overflows: number;
  readonly pairingViolations: number;
  /** Messages gone or altered that no manifest accounts for. */
  readonly unaccounted: number;
  readonly largestSummary: number;
  /** Read by a summariser, where there was one; not in `cost`. */
  readonly summariserTokens: number;
  /** Spent in the strategy, its checks included. */
  readonly milliseconds: number;
}

/** Sends a conversation step by step, as a live agent would have, and lets the strategy reduce before each model call. */
export async function replayConversation(
  recording: Recording,
  strategy: Strategy,
  setting: ReplaySetting,
): Promise<ConversationResult> {
  const { counter, overhead, window } = setting;
  const reduce = strategy(setting);
  const fates = new Map<string, MessageFate>();
  const probes: ProbeResult[] = [];
  const total = {
    cost: 0,
    calls: 0,
    reductions: 0,
    largestRequest: 0,
    overflows: 0,
    pairingViolations: 0,
    unaccounted: 0,
    largestSummary: 0,
    summariserTokens: 0,
    milliseconds: 0,
  };
  let context: Message[] = [];
  let contextTokens = 0;
  /** The previous request: the first messages of the context, and their tokens. */
  let sent = { length: 0, tokens: 0 };
  let lastReduction = -1;

  for (const [index, message] of recording.messages.entries()) {
    if (message.role === 'assistant') {
      const startedAt = performance.now();
      const reduced = await reduce(context);
      total.milliseconds += performance.now() - startedAt;
      if (reduced) {
        const { messages, manifest, summariserTokens = 0 } = reduced;
        for (const { messageId, fate } of manifest) fates.set(messageId, fate);
        total.reductions++;
        total.summariserTokens += summariserTokens;
        total.unaccounted += unaccountedFor(
          context,
          messages,
          new Set(manifest.map((entry) => entry.messageId)),
        );
        total.pairingViolations += pairingViolations(messages);
        const summaries = messages.filter((candidate) => candidate.kind === 'summary');
        total.largestSummary = Math.max(total.largestSummary, countMessages(counter, summaries));
        const shared = sharedPrefix(context.slice(0, sent.length), messages);
        sent = { length: shared, tokens: countMessages(counter, messages.slice(0, shared)) };
        context = [...messages];
        contextTokens = countMessages(counter, messages);
        lastReduction = index;
      }
      const cached = (total.calls === 0 ? 0 : overhead) + sent.tokens;
      const request = overhead + contextTokens;
      total.cost += PRICES.cached * cached + PRICES.fresh * (request - cached);
      total.calls++;
      total.largestRequest = Math.max(total.largestRequest, request);
      if (request > window) total.overflows++;
      sent = { length: context.length, tokens: contextTokens };
      for (const probe of recording.probes) {
        if (probe.callIndex !== index) continue;
        const mentioned = recording.messages[probe.lastIndex];
        probes.push({
          ...probe,
          retained: recording.system.includes(probe.token) || holdsToken(context, probe.token),
          crossing: lastReduction > probe.lastIndex,
          fate: mentioned && fates.get(mentioned.id),
        });
      }
    }
    context.push(message);
    contextTokens += countMessage(counter, message);
  }
  return { probes, ...total };
}

function unaccountedFor(
  before: readonly Message[],
  after: readonly Message[],
  accounted: ReadonlySet<string>,
): number {
  const staying = new Set(after);
  return before.filter((message) => !staying.has(message) && !accounted.has(message.id)).length;
}
