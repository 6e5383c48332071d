import { computed } from '@preact/signals';
import { textOf } from '../lib/message-text.js';
import { entries } from './session.js';

/** What the user said last; empty before. */
export const lastQuestion = computed(() => {
  const entry = entries.value.findLast(
    (candidate) =>
      candidate.type === 'message' && candidate.message.role === 'user' && !candidate.message.kind,
  );
  return entry?.type === 'message' ? textOf(entry.message) : '';
});
