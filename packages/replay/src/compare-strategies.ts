import { estimateCounter, type TokenCounter } from '@x/core';
import { countMessages } from '@x/core/messages';
import type { RecordedConversation } from './conversation.js';
import { type Prices, relativePrices } from './prices.js';
import { findLongRangeReferences, type LongRangeReference } from './references.js';
import { type ReplayResult, replayConversation } from './replay-conversation.js';
import { ReplayError } from './replay-error.js';
import { sendEverything } from './strategies/baselines.js';
import type { ReplaySetting, Strategy } from './strategy.js';

/** Share of the window at which simple strategies reduce. */
const TRIGGER_SHARE = 0.85;
/** Assumed minimum tokens of system prompt and tool schemas, which most recordings lack. The number is typical for a coding agent. */
const TYPICAL_OVERHEAD = 10_000;
/** Minimum tokens that the default window leaves for the conversation. */
const MIN_CONVERSATION = 6_000;

/** Options of {@link compareStrategies}. */
export interface CompareOptions {
  /**
   * The context window of the replay, in tokens. Default: half of the largest request without reductions, but at least 6 000 tokens more than
   * the system prompt, rounded up to thousands.
   */
  readonly window?: number | undefined;
  /** Counts tokens. Default: `estimateCounter` of `@x/core`. */
  readonly counter?: TokenCounter;
  /** Prices per million tokens. Default: relative to the price of uncached input. */
  readonly prices?: Prices | undefined;
  /** Tokens of system prompt and tool schemas. Default: those of the recorded system prompt, but at least 10 000. */
  readonly systemTokens?: number | undefined;
  /** Called before each strategy is replayed, with its name and its number from 1. */
  readonly onStrategy?: (name: string, place: number) => void;
  /** Aborts the comparison, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** The results of replaying one conversation with every strategy. */
export interface Comparison {
  readonly conversation: RecordedConversation;
  readonly setting: ReplaySetting;
  readonly prices: Prices;
  readonly references: readonly LongRangeReference[];
  /** The result without any reduction, as a baseline for costs. */
  readonly everything: ReplayResult;
  readonly strategies: Readonly<Record<string, ReplayResult>>;
}

/**
 * Replays a conversation with each strategy, and once without reductions.
 *
 * @example
 * ```ts
 * const comparison = await compareStrategies(conversation, { 'tail-20': keepTail(20) }, { window: 64_000 });
 * console.log(replayTable([comparison]));
 * ```
 * @throws {ReplayError} `empty_conversation` if the conversation has no model answer.
 */
export async function compareStrategies(
  conversation: RecordedConversation,
  strategies: Readonly<Record<string, Strategy>>,
  options: CompareOptions = {},
): Promise<Comparison> {
  const { counter = estimateCounter, prices = relativePrices } = options;
  if (!conversation.messages.some(({ role }) => role === 'assistant')) {
    throw new ReplayError(
      'empty_conversation',
      'The recording has no model answer, so there is nothing to replay.',
    );
  }
  const setting = settingOf(conversation, counter, options);
  const references = findLongRangeReferences(conversation.messages, counter);
  const input = { messages: conversation.messages, references };
  const everything = await replayConversation(input, sendEverything, setting, prices);
  const results: Record<string, ReplayResult> = {};
  for (const [index, [name, strategy]] of Object.entries(strategies).entries()) {
    options.onStrategy?.(name, index + 1);
    results[name] = await replayConversation(input, strategy, setting, prices);
  }
  return { conversation, setting, prices, references, everything, strategies: results };
}

function settingOf(
  { system = '', messages }: RecordedConversation,
  counter: TokenCounter,
  { window: given, systemTokens, signal }: CompareOptions,
): ReplaySetting {
  const recorded = counter.count(system);
  const needed = systemTokens ?? Math.max(recorded, TYPICAL_OVERHEAD);
  const padded = needed > recorded ? `${system}\n${filler(needed - recorded, counter)}` : system;
  const overhead = counter.count(padded);
  const sent = messages.slice(
    0,
    messages.findLastIndex(({ role }) => role === 'assistant'),
  );
  const peak = overhead + countMessages(counter, sent);
  const window = given ?? 1_000 * Math.ceil(Math.max(peak / 2, overhead + MIN_CONVERSATION) / 1_000);
  return {
    window,
    peak,
    trigger: Math.floor(window * TRIGGER_SHARE),
    counter,
    system: padded,
    overhead,
    signal,
  };
}

/** Returns a text of about `tokens` tokens without names. It replaces the tool schemas that the recording lacks. */
function filler(tokens: number, counter: TokenCounter): string {
  const unit = 'a '.repeat(1_000);
  const text = unit.repeat(Math.ceil(tokens / counter.count(unit)));
  return text.slice(0, Math.floor((text.length * tokens) / counter.count(text)));
}
