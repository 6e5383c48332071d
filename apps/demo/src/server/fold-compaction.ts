import type { PageEvent } from './page-event.js';
import type { CompactionRecord, Fate, Transcript } from './transcript.js';
import { holds, sampled } from './transcript-entries.js';

/** The transcript after a compaction, whatever its outcome. */
export function withCompaction(
  transcript: Transcript,
  event: Extract<PageEvent, { readonly type: 'context.compacted' }>,
): Transcript {
  const { type: _, sessionId: __, context, ...figures } = event;
  const id = `compaction-${event.at}`;
  if (holds(transcript, id)) return transcript;
  const compaction: CompactionRecord = { ...figures, id, undone: false };
  const window = context ?? transcript.context;
  const applied = event.status === 'applied';
  const mark = window && {
    type: 'compaction' as const,
    at: event.at,
    compactionId: id,
    status: event.status,
    tokensBefore: event.tokensBefore,
    context: window,
  };
  return {
    ...transcript,
    entries: [...transcript.entries, { type: 'compaction', id, compaction }],
    fates: applied ? { ...transcript.fates, ...fatesOf(compaction) } : transcript.fates,
    timeline: mark ? sampled(transcript, mark) : transcript.timeline,
    context: window,
    compacting: undefined,
  };
}

/** The transcript after a compaction has been taken back. */
export function withoutCompaction(
  transcript: Transcript,
  event: Extract<PageEvent, { readonly type: 'context.restored' }>,
): Transcript {
  const entries = transcript.entries.map((entry) =>
    entry.type === 'compaction' && entry.id === event.compactionId
      ? { ...entry, compaction: { ...entry.compaction, undone: true } }
      : entry,
  );
  const standing = entries.flatMap((entry) =>
    entry.type === 'compaction' && entry.compaction.status === 'applied' && !entry.compaction.undone
      ? [fatesOf(entry.compaction)]
      : [],
  );
  const context = event.context ?? transcript.context;
  const timeline = context
    ? sampled(transcript, { type: 'step', at: event.at, context })
    : transcript.timeline;
  return { ...transcript, entries, fates: Object.assign({}, ...standing), context, timeline };
}

function fatesOf(compaction: CompactionRecord): Record<string, Fate> {
  return Object.fromEntries(
    compaction.manifest.map(({ messageId, fate }) => [messageId, { fate, compactionId: compaction.id }]),
  );
}
