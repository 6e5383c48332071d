import type { SessionKey } from '@x/core';
import { parseWith } from '@x/core/internal';
import type { AskOptions } from '../../src/ask-model.js';
import { consolidateNotes } from '../../src/consolidate/consolidate-notes.js';
import { type FlushOptions, flushSession } from '../../src/flush/flush-session.js';
import { type MemoryPlace, placeOfSession, scopePrefix } from '../../src/memory-scope.js';
import { type MemoryServiceOptions, memoryServiceSchema } from '../../src/settings.js';

const settingsOf = (options: MemoryServiceOptions) => parseWith(memoryServiceSchema, options, 'options');

/** The part of a service that flushes, on the very tree that it is given. */
export function flusherOf(options: MemoryServiceOptions) {
  const settings = settingsOf(options);
  return { flush: (key: SessionKey, how?: FlushOptions) => flushSession(settings, placeOfSession(key), how) };
}

/** The part of a service that merges notes. */
export function consolidatorOf(options: MemoryServiceOptions) {
  const settings = settingsOf(options);
  return {
    consolidate: (place: MemoryPlace, how?: AskOptions) =>
      consolidateNotes(settings, scopePrefix(place), how),
  };
}
