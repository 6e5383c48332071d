import { type JsonValue, type Message, type TokenCounter, toolUsesOf } from '@x/core';
import { countMessage } from '@x/core/messages';
import { contextText } from './context-text.js';

/** A name that a tool call uses long after its last mention. A reduction must not lose the name. */
export interface LongRangeReference {
  /** The name, such as a path or an identifier. */
  readonly token: string;
  /** Index of the message with the tool call. */
  readonly callIndex: number;
  /** Index of the last message before the call that mentioned the name. */
  readonly lastIndex: number;
  /** Tokens between these two messages. */
  readonly gapTokens: number;
}

/** Matches words that may be names. `DISTINCTIVE` keeps those with a slash, a dot, an underscore, a digit or an inner capital. */
const NAME = /[\p{L}\p{N}_@~./\\:#-]{6,200}/gu;
const DISTINCTIVE = /[/_\d]|\.\p{L}|\p{Ll}\p{Lu}/u;
/** Maximum references per call. A call with more names is a listing, so its first names are enough. */
const MAX_PER_CALL = 8;
/** Minimum tokens between mention and use. More recent mentions survive any strategy. */
const MIN_GAP_TOKENS = 2_000;

/** Finds names in tool calls whose last mention is much earlier. A name is recognized by its form. */
export function findLongRangeReferences(
  messages: readonly Message[],
  counter: TokenCounter,
): readonly LongRangeReference[] {
  const found: LongRangeReference[] = [];
  /** By name, the index of the last message that mentions it. */
  const mentions = new Map<string, number>();
  /** By message index, the tokens of all earlier messages. */
  const starts: number[] = [];
  let tokens = 0;
  for (const [callIndex, message] of messages.entries()) {
    starts.push(tokens);
    const names = new Set(toolUsesOf(message).flatMap(({ input }) => namesIn(stringsOf(input).join('\n'))));
    let foundInCall = 0;
    for (const token of names) {
      const lastIndex = mentions.get(token);
      if (lastIndex === undefined || foundInCall === MAX_PER_CALL) continue;
      const gapTokens = tokens - (starts[lastIndex + 1] ?? tokens);
      if (gapTokens < MIN_GAP_TOKENS) continue;
      foundInCall++;
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
    if (name.length >= 6 && DISTINCTIVE.test(name) && !/^[\d.:-]+$/.test(name)) names.push(name);
  }
  return names;
}

function stringsOf(value: JsonValue): readonly string[] {
  const strings: string[] = [];
  const open: JsonValue[] = [value];
  // No recursion, because the input may be nested deeper than the call stack allows.
  while (open.length > 0) {
    const next = open.pop() as JsonValue;
    if (typeof next === 'string') strings.push(next);
    if (typeof next !== 'object' || next === null) continue;
    for (const inner of Object.values(next).toReversed()) open.push(inner as JsonValue);
  }
  return strings;
}
