import type { Message } from '@x/core';
import { turnTaker } from '@x/core/internal';
import { countMessage, countMessages } from '@x/core/messages';
import { containsWhole, contextContains } from './context-text.js';
import { pairingViolations } from './pairing-violations.js';
import { type Prices, relativePrices } from './prices.js';
import type { LongRangeReference } from './references.js';
import { sharedPrefix } from './shared-prefix.js';
import type { Reduced, ReplaySetting, Strategy } from './strategy.js';

/** The result for one reference. */
export interface ReferenceResult extends LongRangeReference {
  /** `true` if the request before the tool call still contains the whole name. */
  readonly retained: boolean;
}

/** One model call of a replay. Sizes in tokens. */
export interface ReplayedCall {
  /** Index of the recorded answer. */
  readonly index: number;
  readonly request: number;
  /** Tokens at the start of the request that equal the previous request. */
  readonly cached: number;
  readonly output: number;
  /** `true` if the strategy reduced the request right before the call. */
  readonly reduced: boolean;
  readonly cost: number;
}

/** The result of replaying one conversation with one strategy. All sizes in tokens. */
export interface ReplayResult {
  readonly references: readonly ReferenceResult[];
  readonly calls: readonly ReplayedCall[];
  /** Cost of all calls at the given prices. Tokens that summarizers read cost as much as uncached input. */
  readonly cost: number;
  readonly reductions: number;
  readonly largestRequest: number;
  /** Number of requests larger than the window. A provider would have rejected them. */
  readonly overflows: number;
  /** Number of calls without a result, and of results without a call. */
  readonly pairingViolations: number;
  /** Number of messages that were removed or changed, but are in no manifest. */
  readonly unaccounted: number;
}

/** A conversation, and the references to look for. */
export interface ReplayInput {
  readonly messages: readonly Message[];
  readonly references: readonly LongRangeReference[];
}

/**
 * Replays a conversation step by step, as a live agent would have sent it. Before each model call, the strategy may reduce the messages.
 * Messages at the start of a request that equal the previous request are billed as cached. Yields to the event loop about every 20
 * milliseconds.
 *
 * @throws the reason of `setting.signal` if it is aborted.
 */
export async function replayConversation(
  { messages: recorded, references }: ReplayInput,
  strategy: Strategy,
  setting: ReplaySetting,
  prices: Prices = relativePrices,
): Promise<ReplayResult> {
  const reduce = strategy(setting);
  const giveWay = turnTaker();
  const replay = new Replay(setting, prices);
  const waiting = references.toSorted((left, right) => left.callIndex - right.callIndex);
  const results: ReferenceResult[] = [];
  for (const [index, message] of recorded.entries()) {
    if (message.role === 'assistant') {
      await giveWay();
      setting.signal?.throwIfAborted();
      const reduced = await reduce(replay.context);
      if (reduced) replay.reduce(reduced);
      replay.call(message, index, reduced !== undefined);
      while (waiting[0] !== undefined && waiting[0].callIndex <= index) {
        const reference = waiting.shift() as LongRangeReference;
        results.push({ ...reference, retained: replay.containsInRequest(reference.token) });
      }
    }
    replay.add(message);
  }
  return { references: results, calls: replay.calls, cost: replay.cost, ...replay.total };
}

/** The part of a conversation that was replayed so far, as a live agent would send it. */
class Replay {
  readonly calls: ReplayedCall[] = [];
  readonly total = {
    reductions: 0,
    largestRequest: 0,
    overflows: 0,
    pairingViolations: 0,
    unaccounted: 0,
  };
  readonly #setting: ReplaySetting;
  readonly #prices: Prices;
  #summarizerTokens = 0;
  #context: Message[] = [];
  #tokens = 0;
  /** The previous request: the first messages of the context, and their tokens. */
  #sent = { length: 0, tokens: 0 };

  constructor(setting: ReplaySetting, prices: Prices) {
    this.#setting = setting;
    this.#prices = prices;
  }

  get context(): readonly Message[] {
    return this.#context;
  }

  /** Cost of all calls. Tokens that summarizers read cost as much as uncached input. */
  get cost(): number {
    const read = (this.#prices.input * this.#summarizerTokens) / 1_000_000;
    return this.calls.reduce((sum, { cost }) => sum + cost, read);
  }

  add(message: Message): void {
    this.#context.push(message);
    this.#tokens += countMessage(this.#setting.counter, message);
  }

  reduce({ messages, manifest, summarizerTokens = 0 }: Reduced): void {
    const { total } = this;
    const { counter } = this.#setting;
    const accounted = new Set<Message | string>([...messages, ...manifest.map(({ messageId }) => messageId)]);
    const isLost = (before: Message) => !accounted.has(before) && !accounted.has(before.id);
    total.reductions++;
    this.#summarizerTokens += summarizerTokens;
    total.unaccounted += this.#context.filter(isLost).length;
    total.pairingViolations += pairingViolations(messages);
    const shared = sharedPrefix(this.#context.slice(0, this.#sent.length), messages);
    this.#sent = { length: shared, tokens: countMessages(counter, messages.slice(0, shared)) };
    this.#context = [...messages];
    this.#tokens = countMessages(counter, messages);
  }

  /** Records a model call: the context is sent, and this message is the answer. */
  call(message: Message, index: number, reduced: boolean): void {
    const { counter, overhead, window } = this.#setting;
    const { cachedInput, cacheWrite, output: outputPrice } = this.#prices;
    const cached = (this.calls.length === 0 ? 0 : overhead) + this.#sent.tokens;
    const request = overhead + this.#tokens;
    const output = countMessage(counter, message);
    const cost = (cachedInput * cached + cacheWrite * (request - cached) + outputPrice * output) / 1_000_000;
    this.calls.push({ index, request, cached, output, reduced, cost });
    this.total.largestRequest = Math.max(this.total.largestRequest, request);
    if (request > window) this.total.overflows++;
    this.#sent = { length: this.#context.length, tokens: this.#tokens };
  }

  /** Tests if the current request contains the whole name. */
  containsInRequest(token: string): boolean {
    return containsWhole(this.#setting.system, token) || contextContains(this.#context, token);
  }
}
