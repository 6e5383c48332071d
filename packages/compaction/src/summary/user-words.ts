import { type ContentBlock, type Message, textOf } from '@x/core';
import { memoize, type Work } from '@x/core/internal';
import { mapRuns } from '../conversation/lines.js';
import { marksOf, withMarks } from '../conversation/marks.js';
import { isUserRequest, latestUserRequest } from '../conversation/regions.js';
import { distilled, isFramed, isPage } from '../conversation/sentences.js';
import { STUB_TEXTS } from '../conversation/stub-texts.js';
import type { Meter } from '../meter.js';
import { numbersOf } from './numbers.js';

/** A request in front of a summary, verbatim or shortened. */
export interface KeptRequest {
  readonly original: Message;
  readonly message: Message;
}

/** Tests if a request stays verbatim, and was not shortened before. */
export function isVerbatim({ original, message }: KeptRequest): boolean {
  return original === message && marksOf(original).shortened === undefined;
}

/** Tokens to which a request may be shortened. Shorter requests are never shortened. */
export const SHORTEST_REQUEST = 80;
/** The factor by which the room may be exceeded before anything is shortened. */
const SLACK = 1.25;
/** Maximum share of the room for one shortened request, because most of a pasted page is not a request. */
const LARGEST_SHARE = 1 / 4;
/** A cut that leaves less than this share of the allowed tokens is tried again with more text. */
const CLOSE = 0.85;
/** Shortest run of repeated lines, in UTF-16 units, that counts as boilerplate. */
const BOILERPLATE = 400;

/**
 * Returns the user's requests that stay in front of a summary: every request, in order and verbatim, if all but the latest fit into `room`
 * tokens. Otherwise it shortens requests to whole sentences: first those that programs wrote in the user's name, then the longest, and the
 * first request last. If that is not enough, it removes requests, the oldest before others, except the first, and only the record quotes
 * them. The latest request never changes; if there is no room, only it stays. Repeated lines are kept once.
 *
 * @param requests All requests that the summary covers, including the latest one if it is covered.
 * @param messages The whole conversation.
 * @param most Maximum number of requests that may stay.
 */
export function keepUserWords(
  requests: readonly Message[],
  messages: readonly Message[],
  room: number,
  meter: Meter,
  most = Number.POSITIVE_INFINITY,
): readonly KeptRequest[] {
  const latest = messages[latestUserRequest(messages)];
  if (room === 0)
    return requests.flatMap((message) => (message === latest ? { original: message, message } : []));
  const seen = new Set<string>();
  const kept = requests.map((original) => {
    const message = original === latest ? original : withoutRepeats(original, seen);
    return { original, message, size: meter.message(message), isGone: false };
  });
  let total = kept.reduce((sum, { original, size }) => sum + (original === latest ? 0 : size), 0);
  // Removing a few words gains nothing.
  if (total <= room * SLACK && kept.length <= most) return kept;
  const [first, ...rest] = kept.filter(({ original }) => original !== latest);
  const last = first === undefined ? [] : [first];
  const written = new Set(ofPrograms(messages));
  const programs = rest.filter(({ original }) => written.has(original));
  const people = rest.filter(({ original }) => !written.has(original));
  const inTurn = [...programs, ...people, ...last];
  const shorten = (some: typeof kept, most: (size: number) => number) => {
    for (const one of some) {
      const tokens = Math.max(SHORTEST_REQUEST, Math.min(most(one.size), room * LARGEST_SHARE));
      if (total <= room || one.size <= tokens) continue;
      const short =
        tokens === SHORTEST_REQUEST ? shortest(one.original, meter) : cut(one.message, tokens, meter);
      if (short.tokens >= one.size) continue;
      total -= one.size - short.tokens;
      Object.assign(one, { message: short.message, size: short.tokens });
    }
  };
  shorten(programs, () => SHORTEST_REQUEST);
  const sizes = people.map(({ size }) => size);
  const whole = sizes.reduce((sum, size) => sum + size, 0);
  // A first request of up to half of the room stays whole, because it usually says what the work is for.
  const given = first === undefined || first.size <= room / 2 ? 0 : first.size - room * LARGEST_SHARE;
  const free = room - (total - whole) + given;
  const level = levelOf(sizes, free);
  shorten(people, () => level);
  shorten(last, (size) => size - (total - room));
  shorten(inTurn, () => SHORTEST_REQUEST);
  let count = kept.length;
  for (const one of inTurn) {
    if (one === first || (total <= room && count <= most)) break;
    one.isGone = true;
    total -= one.size;
    count--;
  }
  return kept.filter(({ isGone }) => !isGone);
}

/** Returns the size to which all larger requests can be shortened so that all together take `room`. */
function levelOf(sizes: readonly number[], room: number): number {
  let left = room;
  for (const [index, size] of sizes.toSorted((one, other) => one - other).entries()) {
    const share = left / (sizes.length - index);
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * Finds messages that programs wrote in the user's name: text entirely between tags or brackets, or a page of instructions directly before
 * a message of the user. Cached by the list.
 */
export const ofPrograms = memoize((messages: readonly Message[]): readonly Message[] => {
  const numbers = numbersOf(messages);
  return messages.filter((message, index) => {
    if (!isUserRequest(message)) return false;
    const text = textOf(message);
    const next = messages[index + 1];
    // Adjacent requests in front of a summary need not have been consecutive, so their numbers are compared.
    const isNext = next !== undefined && numbers.get(next) === (numbers.get(message) ?? 0) + 1;
    return isFramed(text) || (isNext && isPage(text) && isUserRequest(next));
  });
});

interface Cut {
  readonly message: Message;
  readonly tokens: number;
}

/** Requests cut to the shortest length, cached for the counter and the ratio of the meter. */
const known = new WeakMap<Message, { readonly meter: Meter; readonly cut: Cut }>();

function shortest(message: Message, meter: Meter): Cut {
  const found = known.get(message);
  if (found?.meter.counter === meter.counter && found.meter.ratio === meter.ratio) return found.cut;
  const made = cut(message, SHORTEST_REQUEST, meter);
  known.set(message, { meter, cut: made });
  return made;
}

function cut(original: Message, most: number, meter: Meter): Cut {
  const share = most / meter.message(original);
  const isTerse = most === SHORTEST_REQUEST;
  const cutTo = (part: number) => {
    const message = shortened(original, part, isTerse);
    return { message, tokens: meter.message(message) };
  };
  const first = cutTo(share);
  if (first.tokens >= most * CLOSE) return first;
  // The remaining text may have fewer tokens per character than the removed text.
  const made = [first, cutTo((share * most) / first.tokens), ...(isTerse ? [] : [shortest(original, meter)])];
  const fitting = made.filter(({ tokens }) => tokens <= most);
  return fitting.toSorted((one, other) => other.tokens - one.tokens)[0] ?? first;
}

/** Shortens requests ahead of time, in several steps, if they exceed the room. */
export function* shortenAhead(requests: readonly Message[], room: number, meter: Meter): Work<void> {
  if (meter.messages(requests) <= room * SLACK) return;
  for (const message of requests) {
    if (meter.message(message) > SHORTEST_REQUEST) shortest(message, meter);
    yield;
  }
}

/** Shortens a request to fewer sentences, and notes at its end how much of the original text is left out. */
function shortened(message: Message, share: number, isTerse: boolean): Message {
  const last = message.content.findLastIndex(({ type }) => type === 'text');
  const isCut = marksOf(message).shortened !== undefined;
  const content = message.content.map((block, index): ContentBlock => {
    if (block.type !== 'text') return block;
    const text = isCut && index === last ? withoutNote(block.text) : block.text;
    const short = distilled(text, Math.max(40, Math.floor(text.length * share * 0.9)), isTerse);
    return { ...block, text: short.length < text.length ? short : text };
  });
  const { length } = textOf(content);
  const whole = lengthOf(message);
  const note = STUB_TEXTS.leftOut.write(whole - length, whole);
  if (length + note.length >= textOf(message.content).length) return message;
  const noted = content.map((block, index) =>
    block.type === 'text' && index === last ? { ...block, text: `${block.text}\n${note}` } : block,
  );
  return withMarks({ ...message, content: noted }, { shortened: whole });
}

/** Returns the length of a request's text before it was shortened. */
function lengthOf(message: Message): number {
  const { shortened: before } = marksOf(message);
  return typeof before === 'number' ? before : textOf(message).length;
}

/** Returns the text of a request without the note about what was left out. */
export function wordsOf(message: Message): string {
  const text = textOf(message);
  return marksOf(message).shortened === undefined ? text : withoutNote(text);
}

function withoutNote(text: string): string {
  const at = text.lastIndexOf('\n');
  return STUB_TEXTS.leftOut.pattern.test(text.slice(at)) ? text.slice(0, at) : text;
}

/** Replaces long runs of lines that an earlier request contained word for word. */
function withoutRepeats(message: Message, seen: Set<string>): Message {
  let isChanged = false;
  const content = message.content.map((block): ContentBlock => {
    if (block.type !== 'text' || block.text.length < BOILERPLATE) return block;
    const isRepeated = (line: string, isInRun: boolean) => seen.has(line) || (isInRun && line.trim() === '');
    const text = mapRuns(block.text, isRepeated, (run) => {
      const { length } = run.join('\n');
      return length < BOILERPLATE ? run : [STUB_TEXTS.repeated.write(length)];
    });
    for (const line of block.text.split('\n')) seen.add(line);
    isChanged ||= text !== block.text;
    return { ...block, text };
  });
  return isChanged ? withMarks({ ...message, content }, { shortened: lengthOf(message) }) : message;
}
