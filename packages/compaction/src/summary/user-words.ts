import type { ContentBlock, Message } from '@x/core';
import type { Work } from '@x/core/internal';
import { withMarks } from '../conversation/marks.js';
import { latestUserRequest } from '../conversation/regions.js';
import { STUB_TEXTS } from '../conversation/stub-texts.js';
import { cutMiddle } from '../conversation/text.js';
import type { Meter } from '../meter.js';

/** A request in front of a summary: as it was said, or shortened. */
export interface KeptRequest {
  readonly original: Message;
  readonly message: Message;
}

/** Tokens that a shortened request keeps. */
const SHORTEST = 80;
/** The factor by which the room may be exceeded before anything is shortened. */
const SLACK = 1.25;
/** UTF-16 units from which on a paragraph that was said before is boilerplate. */
const BOILERPLATE = 400;

/**
 * Keeps the user's words in front of a summary: every request, in order and as it was said, while all of them
 * have at most `room` tokens. Beyond that long ones are shortened in their middle, the oldest first, the first request last;
 * then the oldest are left to the record. The latest request is never touched, and stays alone where there is no room.
 * Long paragraphs that repeat stand once.
 *
 * @param requests All requests that the summary covers, and the latest one where it is among them.
 * @param messages The whole conversation.
 * @param most Requests that may stay, where their number is limited too: the oldest but the first go first.
 */
export function keepUserWords(
  requests: readonly Message[],
  messages: readonly Message[],
  room: number,
  meter: Meter,
  most = Number.POSITIVE_INFINITY,
): readonly KeptRequest[] {
  const latest = messages[latestUserRequest(messages)];
  const untouchable = (message: Message) => message === latest;
  const seen = new Set<string>();
  if (room === 0) return requests.filter(untouchable).map((message) => ({ original: message, message }));
  const kept = requests.map((original) => ({
    original,
    message: untouchable(original) ? original : withoutRepeats(original, seen),
  }));
  const sizes = kept.map(({ message }) => meter.message(message));
  let total = sizes.reduce((sum, size) => sum + size, 0);

  const shorten = (index: number, tokens: number) => {
    const request = kept[index];
    const size = sizes[index] ?? 0;
    if (!request || untouchable(request.original) || size <= tokens) return;
    const { message, tokens: now } =
      tokens === SHORTEST ? shortest(request.message, meter) : cut(request.message, tokens, meter);
    if (now >= size) return;
    kept[index] = { ...request, message };
    sizes[index] = now;
    total -= size - now;
  };
  // A few words less are no gain.
  if (total <= room * SLACK && kept.length <= most) return kept;
  // The oldest that have no room even when they are cut need not be cut.
  const leastOf = (index: number) => Math.min(sizes[index] ?? 0, SHORTEST);
  const folded = new Set<number>();
  const fold = (index: number) => {
    if (folded.has(index) || untouchable((kept[index] as KeptRequest).original)) return;
    folded.add(index);
    total -= sizes[index] ?? 0;
  };
  let least = sizes.reduce((sum, _, index) => sum + leastOf(index), 0);
  for (let index = 1; index < kept.length && least > room; index++) {
    least -= leastOf(index);
    fold(index);
  }
  for (let index = 1; index < kept.length && total > room; index++) {
    if (!folded.has(index)) shorten(index, Math.max(SHORTEST, (sizes[index] ?? 0) - (total - room)));
  }
  if (total > room) shorten(0, Math.max(SHORTEST, (sizes[0] ?? 0) - (total - room)));

  const tooMuch = () => total > room || kept.length - folded.size > most;
  for (let index = 1; index < kept.length && tooMuch(); index++) fold(index);
  return kept.filter((_, index) => !folded.has(index));
}

interface Cut {
  readonly message: Message;
  readonly tokens: number;
}

/** Requests that were cut as far as they may be, by the counter and the ratio of the meter. */
const known = new WeakMap<Message, { readonly meter: Meter; readonly cut: Cut }>();

function shortest(message: Message, meter: Meter): Cut {
  const found = known.get(message);
  if (found?.meter.counter === meter.counter && found.meter.ratio === meter.ratio) return found.cut;
  const made = cut(message, SHORTEST, meter);
  known.set(message, { meter, cut: made });
  return made;
}

function cut(original: Message, most: number, meter: Meter): Cut {
  const message = shortened(original, most / meter.message(original));
  return { message, tokens: meter.message(message) };
}

/** Cuts requests ahead in pieces, where all of them together have more than `room` tokens. */
export function* shortenAhead(requests: readonly Message[], room: number, meter: Meter): Work<void> {
  if (meter.messages(requests) <= room * SLACK) return;
  for (const message of requests) {
    if (meter.message(message) > SHORTEST) shortest(message, meter);
    yield;
  }
}

/** The text of a request in which a summary left out a part. */
function shortened(message: Message, share: number): Message {
  const content = message.content.map((block): ContentBlock => {
    if (block.type !== 'text') return block;
    const length = Math.max(40, Math.floor(block.text.length * share * 0.9));
    if (length >= block.text.length) return block;
    const marker = (left: number) => `\n${STUB_TEXTS.leftOut.write(left)}\n`;
    const text = cutMiddle(block.text, length, marker, { lines: true });
    return text.length < block.text.length ? { ...block, text } : block;
  });
  return withMarks({ ...message, content }, { shortened: true });
}

/** The message without long paragraphs that an earlier request held word for word. */
function withoutRepeats(message: Message, seen: Set<string>): Message {
  let changed = false;
  const content = message.content.map((block): ContentBlock => {
    if (block.type !== 'text' || block.text.length < BOILERPLATE) return block;
    const paragraphs = block.text.split(/\n{2,}/).map((paragraph) => {
      if (paragraph.length < BOILERPLATE) return paragraph;
      if (!seen.has(paragraph)) {
        seen.add(paragraph);
        return paragraph;
      }
      changed = true;
      return STUB_TEXTS.repeated.write(paragraph.length);
    });
    return changed ? { ...block, text: paragraphs.join('\n\n') } : block;
  });
  return changed ? withMarks({ ...message, content }, { shortened: true }) : message;
}
