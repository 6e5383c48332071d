import { setImmediate as othersTurn } from 'node:timers/promises';
import { countMessage, countMessages, type Message, type MessageFate } from '@x/core';
import { holdsToken, holdsWhole } from './context-text.js';
import { pairingViolations } from './pairing-violations.js';
import { type Prices, relativePrices } from './prices.js';
import type { LongRangeReference } from './references.js';
import { sharedPrefix } from './shared-prefix.js';
import type { ReplaySetting, Strategy } from './strategy.js';

/** What became of one reference. */
export interface ReferenceResult extends LongRangeReference {
  /** Its token stands as a whole in the request whose answer uses it. */
  readonly retained: boolean;
  /** A reduction came between the last mention and the call. */
  readonly crossing: boolean;
  /** What became of the message that mentioned the token last; nothing when it is as it was. */
  readonly fate?: MessageFate | undefined;
}

/** One model call of a replay. Sizes in tokens. */
export interface ReplayedCall {
  /** Index of the recorded answer. */
  readonly index: number;
  readonly request: number;
  /** Of the request, what the call before had sent in the same words from the start. */
  readonly cached: number;
  readonly output: number;
  /** A reduction came right before it. */
  readonly reduced: boolean;
  readonly cost: number;
}

/** What replaying one conversation through one strategy came to. All sizes in tokens. */
export interface ReplayResult {
  readonly references: readonly ReferenceResult[];
  readonly calls: readonly ReplayedCall[];
  /** Of all calls together, by the prices given, and of what summarizers read, as uncached input. */
  readonly cost: number;
  readonly reductions: number;
  readonly largestRequest: number;
  /** Requests larger than the window: a provider would have refused them. */
  readonly overflows: number;
  /** Calls or results without their counterpart. */
  readonly pairingViolations: number;
  /** Messages gone or altered that no manifest accounts for. */
  readonly unaccounted: number;
  readonly largestSummary: number;
  /** Read by a summarizer, where there was one. */
  readonly summarizerTokens: number;
  /** Spent in the strategy, its checks included. */
  readonly milliseconds: number;
}

/** A conversation and what is asked of it. */
export interface ReplayInput {
  readonly messages: readonly Message[];
  readonly references: readonly LongRangeReference[];
  /** The recorded system prompt, where `ReplaySetting.system` stands in for it: what it names is never lost. */
  readonly system?: string;
}

/**
 * Sends a conversation step by step, as a live agent would have, and lets the strategy reduce before each model call. A
 * call is billed as cached for the whole messages that it shares, from the start, with the call before. Others get the
 * thread every 20 milliseconds or so.
 *
 * @throws the reason of `setting.signal` once that is aborted.
 */
export async function replayConversation(
  { messages: recorded, references, system = '' }: ReplayInput,
  strategy: Strategy,
  setting: ReplaySetting,
  prices: Prices = relativePrices,
): Promise<ReplayResult> {
  const { counter, overhead, window } = setting;
  const reduce = strategy(setting);
  const turn = takeTurns(setting.signal);
  const fates = new Map<string, MessageFate>();
  const results: ReferenceResult[] = [];
  const calls: ReplayedCall[] = [];
  const waiting = references.toSorted((left, right) => left.callIndex - right.callIndex);
  const total = {
    reductions: 0,
    largestRequest: 0,
    overflows: 0,
    pairingViolations: 0,
    unaccounted: 0,
    largestSummary: 0,
    summarizerTokens: 0,
    milliseconds: 0,
  };
  let context: Message[] = [];
  let contextTokens = 0;
  /** The previous request: the first messages of the context, and their tokens. */
  let sent = { length: 0, tokens: 0 };
  let lastReduction = -1;

  for (const [index, message] of recorded.entries()) {
    if (message.role === 'assistant') {
      await turn();
      const startedAt = performance.now();
      const reduced = await reduce(context);
      total.milliseconds += performance.now() - startedAt;
      if (reduced) {
        const { messages, manifest, summarizerTokens = 0 } = reduced;
        for (const { messageId, fate } of manifest) fates.set(messageId, fate);
        total.reductions++;
        total.summarizerTokens += summarizerTokens;
        const accounted = new Set<Message | string>([
          ...messages,
          ...manifest.map((entry) => entry.messageId),
        ]);
        total.unaccounted += context.filter(
          (before) => !accounted.has(before) && !accounted.has(before.id),
        ).length;
        total.pairingViolations += pairingViolations(messages);
        const summaries = messages.filter((candidate) => candidate.kind === 'summary');
        total.largestSummary = Math.max(total.largestSummary, countMessages(counter, summaries));
        const shared = sharedPrefix(context.slice(0, sent.length), messages);
        sent = { length: shared, tokens: countMessages(counter, messages.slice(0, shared)) };
        context = [...messages];
        contextTokens = countMessages(counter, messages);
        lastReduction = index;
      }
      const cached = (calls.length === 0 ? 0 : overhead) + sent.tokens;
      const request = overhead + contextTokens;
      const output = countMessage(counter, message);
      calls.push({
        index,
        request,
        cached,
        output,
        reduced: reduced !== undefined,
        cost:
          (prices.cachedInput * cached + prices.cacheWrite * (request - cached) + prices.output * output) /
          1_000_000,
      });
      total.largestRequest = Math.max(total.largestRequest, request);
      if (request > window) total.overflows++;
      sent = { length: context.length, tokens: contextTokens };
      while (waiting[0] !== undefined && waiting[0].callIndex <= index) {
        const reference = waiting.shift() as LongRangeReference;
        const mentioned = recorded[reference.lastIndex];
        results.push({
          ...reference,
          retained:
            holdsWhole(system, reference.token) ||
            holdsWhole(setting.system, reference.token) ||
            holdsToken(context, reference.token),
          crossing: lastReduction > reference.lastIndex,
          fate: mentioned && fates.get(mentioned.id),
        });
      }
    }
    context.push(message);
    contextTokens += countMessage(counter, message);
  }
  const read = (prices.input * total.summarizerTokens) / 1_000_000;
  return { references: results, calls, cost: calls.reduce((sum, { cost }) => sum + cost, read), ...total };
}

/** Longer than this, in milliseconds, a replay does not keep the thread. */
const TURN_MS = 20;

/** Makes a function to be awaited between the parts of long work: it lets others have the thread once in a while. */
function takeTurns(signal?: AbortSignal): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since >= TURN_MS) {
      await othersTurn();
      since = performance.now();
    }
    signal?.throwIfAborted();
  };
}
