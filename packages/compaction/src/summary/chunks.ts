import type { Message } from '@x/core';
import { pairingOf } from '@x/core';
import { cutMiddle } from '../conversation/text.js';
import type { Meter } from '../meter.js';
import type { TranscriptEntry } from './transcript.js';

/**
 * Where the chunk that begins at `start` ends: after `count` entries or `room` tokens, but never between a tool call
 * and its results unless that batch alone exceeds the room. At least one entry.
 */
export function takeChunk(
  entries: readonly TranscriptEntry[],
  start: number,
  count: number,
  room: number,
  meter: Meter,
): number {
  const rest: readonly Message[] = entries.slice(start).map((entry) => entry.message);
  let end = start;
  let tokens = 0;
  for (const group of pairingOf(rest).groups) {
    const members = entries.slice(start + group.start, start + group.end);
    const size = members.reduce((sum, { text }) => sum + meter.text(text), 0);
    if (end > start && (end - start >= count || tokens + size > room)) break;
    if (end === start && size > room) return start + fitting(members, room, meter);
    tokens += size;
    end = start + group.end;
  }
  return end;
}

/** How many entries fit, one at least. */
function fitting(entries: readonly TranscriptEntry[], room: number, meter: Meter): number {
  let tokens = 0;
  let count = 0;
  for (const { text } of entries) {
    tokens += meter.text(text);
    if (count > 0 && tokens > room) break;
    count++;
  }
  return Math.max(1, count);
}

/** The text, cut in its middle until it has at most `room` tokens. */
export function fitToTokens(text: string, room: number, meter: Meter): string {
  let cut = text;
  let tokens = meter.text(cut);
  while (tokens > room && cut.length > 0) {
    const length = Math.floor(cut.length * Math.min(0.9, room / tokens));
    cut = cutMiddle(text, length, '\n[… cut …]\n');
    tokens = meter.text(cut);
  }
  return cut;
}
