import { computed } from '@preact/signals';
import type { CompactionRecord } from '../../../src/server/transcript.js';
import { entries } from './session.js';

const compactions = computed(() =>
  entries.value.flatMap((entry) => (entry.type === 'compaction' ? [entry.compaction] : [])),
);

/** The last compaction, whatever its outcome. */
export const lastCompaction = computed<CompactionRecord | undefined>(() => compactions.value.at(-1));

/** The last one that changed what the model sees. */
export const lastApplied = computed<CompactionRecord | undefined>(() =>
  compactions.value.findLast(({ status, undone }) => status === 'applied' && !undone),
);
