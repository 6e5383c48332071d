import type { FileBlock, JsonValue } from '@x/core';
import { errorText, headOf, mapChildren, tailOf } from '@x/core/internal';
import type { Meter } from '../meter.js';

/** Maximum UTF-16 units of a file name. */
const LONGEST_NAME = 120;

/** Returns the name of a file, or its media type if it has no name. */
export function nameOf({ filename, mediaType }: FileBlock): string {
  return headOf((filename ?? mediaType).replaceAll(/\s+/g, ' '), LONGEST_NAME);
}

/** How {@link cutMiddle} cuts. */
interface Cut {
  /** The share of the kept text that is from the end. Default 0.25. */
  readonly tail?: number;
  /** Drops partial lines at the cut if that keeps most of both ends. */
  readonly lines?: boolean;
}

/** The text in place of the omitted part, or a function of the omitted UTF-16 units and their offset. */
type Marker = string | ((left: number, from: number) => string);

/**
 * Cuts a text to at most `length` UTF-16 units: the head, `marker`, the tail. Never splits a surrogate pair. Omits a marker that
 * does not fit. The length of a marker function's text is added to `length`.
 */
export function cutMiddle(
  text: string,
  length: number,
  marker: Marker,
  { tail: share = 0.25, lines = false }: Cut = {},
): string {
  if (text.length <= length) return text;
  const room = typeof marker === 'string' ? length - marker.length : length;
  if (room <= 0 && typeof marker === 'string') return headOf(text, Math.max(0, length));
  const most = Math.floor(room * share);
  let head = headOf(text, room - most);
  let tail = tailOf(text, most);
  if (lines) {
    const [end, start] = [head.lastIndexOf('\n'), tail.indexOf('\n') + 1];
    if (end > head.length / 2) head = head.slice(0, end);
    if (start < tail.length / 2) tail = tail.slice(start);
  }
  const left = text.length - head.length - tail.length;
  return head + (typeof marker === 'string' ? marker : marker(left, head.length)) + tail;
}

/** A text of more than `LONG_UNITS` UTF-16 units is first cut to `UNITS_PER_TOKEN` units per allowed token, then counted. */
const LONG_UNITS = 200_000;
const UNITS_PER_TOKEN = 16;

/** Cuts a text as {@link cutMiddle} does until it has at most `room` tokens. */
export function cutToTokens(text: string, room: number, meter: Meter, marker: Marker, how?: Cut): string {
  const marked = meter.text(typeof marker === 'string' ? marker : marker(text.length, 0));
  let length = Math.min(text.length, Math.max(LONG_UNITS, Math.ceil(room * UNITS_PER_TOKEN)));
  let cut = cutMiddle(text, length, marker, how);
  let tokens = meter.text(cut);
  for (; tokens > room && length > 0; tokens = meter.text(cut)) {
    length = Math.floor(length * Math.min(0.9, Math.max(0, room - marked) / tokens));
    cut = cutMiddle(text, length, marker, how);
  }
  return cut;
}

/** Replaces every string in a value, at any depth. Returns the same value if no string changed. */
export function mapStrings<Value>(value: Value, change: (text: string) => string): Value {
  return mapped(value as JsonValue, change) as Value;
}

function mapped(value: JsonValue, change: (text: string) => string): JsonValue {
  return typeof value === 'string' ? change(value) : mapChildren(value, (child) => mapped(child, change));
}

/** Renders a thrown value in one line: the name and the message of an error, at most 300 characters. */
export function errorLine(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : errorText(error);
  return headOf(text.replaceAll(/\s+/g, ' ').trim(), 300);
}
