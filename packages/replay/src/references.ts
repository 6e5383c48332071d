import { type JsonValue, type Message, type TokenCounter, toolUsesOf } from '@x/core';
import { countMessage } from '@x/core/messages';
import { contextText } from './context-text.js';

/** A token that a tool call uses long after its last mention, so a reduction must not lose it. */
export interface LongRangeReference {
  readonly token: string;
  /** Index of the message with the tool call. */
  readonly callIndex: number;
  /** Index of the message that mentioned the token last before the call. */
  readonly lastIndex: number;
  /** Tokens between the two. */
  readonly gapTokens: number;
}

/** Matches candidates for names. `TELLING` accepts those with a slash, a dot, an underscore, a digit or an inner capital. */
const NAME = /[\p{L}\p{N}_@~./\\:#-]{6,200}/gu;
const TELLING = /[/_\d]|\.\p{L}|\p{Ll}\p{Lu}/u;
/** Most references per call. A call with more names is a listing, and its first ones represent it. */
const MOST_PER_CALL = 8;
/** Fewest tokens between mention and use, because nearer mentions survive any strategy. */
const MIN_GAP_TOKENS = 2_000;
export interface ReferenceOptions {
  /** Tokens between mention and use. Default 2 000: nearer mentions survive any strategy. */
  readonly minGapTokens?: number;
}

/** Finds names that tool calls take from much earlier messages, by their form. */
export function findLongRangeReferences(
  messages: readonly Message[],
  counter: TokenCounter,
  { minGapTokens = MIN_GAP_TOKENS }: ReferenceOptions = {},
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
      if (lastIndex === undefined || taken === MOST_PER_CALL) continue;
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
    // Strips punctuation and line numbers. Bounded because a name has at most 200 characters.
    const name = match.replace(/^[.:#-]+/, '').replace(/(?::\d+)*[.:#/\\-]*$/, '');
    if (name.length >= 6 && TELLING.test(name) && !/^[\d.:-]+$/.test(name)) names.push(name);
  }
  return names;
}

function stringsOf(value: JsonValue): readonly string[] {
  const strings: string[] = [];
  const open: JsonValue[] = [value];
  // An explicit stack: input may be nested deeper than the call stack allows.
  while (open.length > 0) {
    const next = open.pop() as JsonValue;
    if (typeof next === 'string') strings.push(next);
    if (typeof next !== 'object' || next === null) continue;
    for (const inner of Object.values(next).toReversed()) open.push(inner as JsonValue);
  }
  return strings;
}
