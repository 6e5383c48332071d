import { type JsonValue, type Message, type TokenCounter, toolUsesOf } from '@x/core';
import { countMessage } from '@x/core/messages';
import { contextText, holdsWhole, type LongRangeReference } from '@x/replay/internal';

/**
 * What is referred to: a name found by its form anywhere in a tool input (`mention`), or a whole value of one, by what it
 * is: a `name`, a `number`, a plain `word`, a `text` of several words.
 */
export type ProbeKind = 'mention' | 'name' | 'number' | 'word' | 'text';

/** Something that a later call needs again. */
export interface Probe extends LongRangeReference {
  readonly kind: ProbeKind;
  /**
   * Whether someone told it: it stands in what a user or a tool said, and a whole number not only where its neighbors
   * stand too, as the numbers of lines do. What is not told, the model once chose by itself, and may again.
   */
  readonly told?: boolean;
}

/** A name: with a slash, a dot, an underscore, a digit or an inner capital. */
const NAME = /[/_\d]|\.\p{L}|\p{Ll}\p{Lu}/u;
/** A call with more of them than that is a listing; its first ones speak for it. */
const MOST_PER_CALL = 8;
/** Nearer mentions survive any strategy. In tokens. */
const MIN_GAP_TOKENS = 2_000;
/** UTF-16 units of a value that is a short text, and not content. */
const LONGEST_VALUE = 200;
const NUMBER = /^[-+]?[\d.,:%]*\d[\d.,:%]*$/;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/**
 * Finds the values of tool inputs that come from the far past of a conversation, whatever they look like: every leaf on
 * one line of 2 to 200 UTF-16 units that stands as a whole in an earlier message, and in no near one. No pattern chooses
 * them, so they favor no way of keeping.
 */
export function findLongRangeValues(messages: readonly Message[], counter: TokenCounter): readonly Probe[] {
  const found: Probe[] = [];
  /** By word, the messages that hold it, in order. */
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

/** The newest message before `end` that holds a value as a whole. */
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

/** The messages before `end` that may hold a value: those that hold its rarest word. */
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

/** The leaves of an input that may be looked for: numbers, and strings on one line that are not content. */
function valuesOf(input: JsonValue): readonly string[] {
  return leavesOf(input)
    .map((leaf) => (typeof leaf === 'boolean' || leaf === null ? '' : String(leaf).trim()))
    .filter((leaf) => leaf.length >= 2 && leaf.length <= LONGEST_VALUE && !leaf.includes('\n'));
}

function leavesOf(value: JsonValue): readonly (string | number | boolean | null)[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : [value];
}
