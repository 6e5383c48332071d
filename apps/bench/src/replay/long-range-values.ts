import { type JsonValue, type Message, type TokenCounter, toolUsesOf } from '@x/core';
import { countMessage } from '@x/core/messages';
import { contextText, holdsWhole, type LongRangeReference } from '@x/replay/internal';

/**
 * The kind of reference: a name found by its form anywhere in a tool input (`mention`), or a whole input value: a `name`, a `number`, a
 * plain `word`, a `text` of several words.
 */
export type ProbeKind = 'mention' | 'name' | 'number' | 'word' | 'text';

/** A value from earlier in the conversation that a later call needs again. */
export interface Probe extends LongRangeReference {
  readonly kind: ProbeKind;
  /**
   * Whether a user or a tool provided the value. A whole number that occurs only next to its neighbors, like a line number, does not count.
   * Otherwise the model once chose the value itself, and may choose it again.
   */
  readonly told?: boolean;
}

/** Matches a name: it has a slash, a dot, an underscore, a digit or an inner capital. */
const NAME = /[/_\d]|\.\p{L}|\p{Ll}\p{Lu}/u;
/** Maximum number of probes per call. A call with more is a listing, for which the first ones suffice. */
const MOST_PER_CALL = 8;
/** Minimum distance in tokens between mentions. Any strategy keeps nearer ones. */
const MIN_GAP_TOKENS = 2_000;
/** Maximum UTF-16 units of a short text. Longer values are content. */
const LONGEST_VALUE = 200;
const NUMBER = /^[-+]?[\d.,:%]*\d[\d.,:%]*$/;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/**
 * Finds values of tool inputs that come from the distant past of a conversation. A value is any single-line leaf of 2 to 200 UTF-16 units
 * that occurs as a whole in an earlier message, and in no recent one. No pattern selects the values, so they favor no strategy.
 */
export function findLongRangeValues(messages: readonly Message[], counter: TokenCounter): readonly Probe[] {
  const found: Probe[] = [];
  /** Indexes of the messages that contain a word, in order. */
  const holders = new Map<string, number[]>();
  const starts: number[] = [];
  let tokens = 0;
  for (const [callIndex, message] of messages.entries()) {
    starts.push(tokens);
    let taken = 0;
    for (const token of new Set(toolUsesOf(message).flatMap(({ input }) => valuesOf(input)))) {
      if (taken === MOST_PER_CALL) break;
      const lastIndex = lastHolder(messages, callIndex, token, holders);
      if (lastIndex === undefined) continue;
      const gapTokens = tokens - (starts[lastIndex + 1] ?? tokens);
      if (gapTokens < MIN_GAP_TOKENS) continue;
      taken++;
      const told = holdersOf(callIndex, token, holders).some((index) =>
        isToldIn(messages[index] as Message, token),
      );
      found.push({ kind: kindOf(token), token, callIndex, lastIndex, gapTokens, told });
    }
    for (const word of wordsIn(contextText(message))) {
      const list = holders.get(word);
      if (list) list.push(callIndex);
      else holders.set(word, [callIndex]);
    }
    tokens += countMessage(counter, message);
  }
  return found;
}

/** Returns the newest message before `end` that contains a value as a whole. */
function lastHolder(
  messages: readonly Message[],
  end: number,
  value: string,
  holders: ReadonlyMap<string, readonly number[]>,
): number | undefined {
  return holdersOf(end, value, holders).findLast((index) =>
    holdsWhole(contextText(messages[index] as Message), value),
  );
}

/** Returns the messages before `end` that may contain a value: those that contain its rarest word. */
function holdersOf(
  end: number,
  value: string,
  holders: ReadonlyMap<string, readonly number[]>,
): readonly number[] {
  if (UNSPACED.test(value)) return Array.from({ length: end }, (_, index) => index);
  const lists = [...wordsIn(value)].map((word) => holders.get(word) ?? []);
  return lists.reduce((least, list) => (list.length < least.length ? list : least), lists[0] ?? []);
}

function isToldIn(message: Message, value: string): boolean {
  if (message.role === 'assistant' || !holdsWhole(contextText(message), value)) return false;
  const number = Number(value);
  const neighbors = Number.isSafeInteger(number) ? [number - 1, number + 1] : [];
  return !neighbors.some((neighbor) => holdsWhole(contextText(message), String(neighbor)));
}

function kindOf(value: string): ProbeKind {
  if (NUMBER.test(value)) return 'number';
  if (/\s/.test(value) || (UNSPACED.test(value) && value.length > 4)) return 'text';
  return NAME.test(value) ? 'name' : 'word';
}

function wordsIn(text: string): ReadonlySet<string> {
  return new Set(text.match(/[\p{L}\p{N}\p{M}_]+/gu));
}

/** Returns the searchable leaves of an input: numbers, and single-line strings that are not content. */
function valuesOf(input: JsonValue): readonly string[] {
  return leavesOf(input)
    .map((leaf) => (typeof leaf === 'boolean' || leaf === null ? '' : String(leaf).trim()))
    .filter((leaf) => leaf.length >= 2 && leaf.length <= LONGEST_VALUE && !leaf.includes('\n'));
}

function leavesOf(value: JsonValue): readonly (string | number | boolean | null)[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : [value];
}
