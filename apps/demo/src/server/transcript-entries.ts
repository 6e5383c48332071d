import type { TimelinePoint, Transcript } from './transcript.js';

/** Points of the time line that are kept: more would not be told apart. */
const MAX_TIMELINE = 400;

/** Tells whether an entry is there already. Repeated entries are recent, so the search begins at the end. */
export function holds(transcript: Transcript, id: string): boolean {
  return transcript.entries.findLastIndex((entry) => entry.id === id) >= 0;
}

/** The time line with one more point. */
export function sampled(transcript: Transcript, point: TimelinePoint): readonly TimelinePoint[] {
  return [...transcript.timeline.slice(1 - MAX_TIMELINE), point];
}
