import { signal } from '@preact/signals';
import type { PageEvent } from '../../../src/server/page-event.js';

/** What a screen reader is told. */
export const announcement = signal('');

let unspoken = '';

/** Puts events into words: answers sentence by sentence, since single words would be read over each other. */
export function announceChange(event: PageEvent): void {
  switch (event.type) {
    case 'text.delta': {
      unspoken += event.text;
      const end = unspoken.search(/[.!?:]\s/);
      if (end < 0) return;
      announcement.value = unspoken.slice(0, end + 1);
      unspoken = unspoken.slice(end + 2);
      return;
    }
    case 'model.completed':
      if (unspoken.trim()) announcement.value = unspoken;
      unspoken = '';
      return;
    case 'tool.call':
      announcement.value = `Runs ${event.call.name}`;
      return;
    case 'context.compacted':
      announcement.value = `Compaction ${event.status}: ${event.messagesBefore} to ${event.messagesAfter} messages`;
      return;
    case 'call.completed':
      announcement.value = event.stopReason === 'completed' ? 'Reply complete' : 'Reply ended';
      return;
    case 'call.failed':
      announcement.value = `Failed: ${event.error.message}`;
      return;
  }
}
