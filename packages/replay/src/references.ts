import { countMessage, type JsonValue, type Message, type TokenCounter, toolUsesOf } from '@x/core';
import { contextText } from './context-text.js';

/** A later tool call uses a name that was last mentioned long before: what a reduction must not lose. */
export interface LongRangeReference {
  /** A path, an identifier or an id. */
  readonly token: string;
  /** Index of the message with the tool call. */
  readonly callIndex: number;
  /** Index of the message that mentioned the token last before the call. */
  readonly lastIndex: number;
  /** Tokens between the two. */
  readonly gapTokens: number;
}

/** Names, not words: with a slash, a dot, an underscore, a digit or an inner capital. */
const NAME = /[\p{L}\p{N}_@~./\\:#-]{6,200}/gu;
const TELLING = /[/_\d]|\.\p{L}|\p{Ll}\p{Lu}/u;
/** A call with more new names than that is a listing; its first ones speak for it. */
const MAX_NAMES_PER_CALL = 8;

/**
 * Finds what tool calls of a conversation take from its far past.
 *
 * @param options `minGapTokens` tokens between mention and use, default 2 000: nearer ones survive any strategy.
 */
export function findLongRangeReferences(
  messages: readonly Message[],
  counter: TokenCounter,
  { minGapTokens = 2_000 }: { readonly minGapTokens?: number } = {},
): readonly LongRangeReference[] {
  const found: LongRangeReference[] = [];
  /** By name, the last message that mentions it. */
  const mentions = new Map<string, number>();
  /** By message, the tokens of all before it. */
  const starts: number[] = [];
  let tokens = 0;
  for (const [callIndex, message] of messages.entries()) {
    starts.push(tokens);
    const names = new Set(toolUsesOf(message).flatMap(({ input }) => namesIn(stringsOf(input).join('\n'))));
    let taken = 0;
    for (const token of names) {
      const lastIndex = mentions.get(token);
      if (lastIndex === undefined || taken === MAX_NAMES_PER_CALL) continue;
      const gapTokens = tokens - (starts[lastIndex + 1] ?? tokens);
      if (gapTokens < minGapTokens) continue;
      taken++;
      found.push({ token, callIndex, lastIndex, gapTokens });
    }
    for (const name of namesIn(contextText(message))) mentions.set(name, callIndex);
    tokens += countMessage(counter, message);
  }
  return found;
}

function namesIn(text: string): readonly string[] {
  const names: string[] = [];
  for (const [match] of text.matchAll(NAME)) {
    // Without what only surrounds a name, and without the line behind it.
    const name = match.replace(/^[.:#-]+/, '').replace(/(?::\d+)*[.:#/\\-]*$/, '');
    if (name.length >= 6 && TELLING.test(name) && !/^[\d.:-]+$/.test(name)) names.push(name);
  }
  return names;
}

function stringsOf(value: JsonValue): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((inner) => stringsOf(inner as JsonValue));
}
