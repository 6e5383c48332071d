import { signal } from '@preact/signals';
import type { PageEvent } from '../../../src/server/transcript.js';

/** What a screen reader is told. */
export const announcement = signal('');

let unspoken = '';

/** Puts what just happened into words, all of it at once: one announcement cuts off the one before. */
export function announce(events: readonly PageEvent[]): void {
  const words = events.flatMap(wordsFor).join(' ').trim();
  if (words) announcement.value = words;
}

/** Answers come sentence by sentence, since single words would be read over each other. */
function wordsFor(event: PageEvent): readonly string[] {
  switch (event.type) {
    case 'text.delta': {
      const sentences = `${unspoken}${event.text}`.split(/(?<=[.!?:])\s+/);
      unspoken = sentences.pop() ?? '';
      return sentences.map(plain);
    }
    case 'draft.discarded':
      unspoken = '';
      return [];
    case 'model.completed': {
      const rest = unspoken;
      unspoken = '';
      return [plain(rest)];
    }
    case 'tool.call':
      return [`Runs ${event.call.name}.`];
    case 'permission.required':
      return [`Waits for your approval: ${event.calls.map(({ name }) => name).join(', ')}.`];
    case 'context.compacted':
      return [`Compaction ${event.status}: ${event.messagesBefore} to ${event.messagesAfter} messages.`];
    case 'call.completed':
      return [event.stopReason === 'completed' ? 'Reply complete.' : 'Reply ended.'];
    case 'call.failed':
      return [`Failed: ${event.error.message}`];
    default:
      return [];
  }
}

/** Without the marks of Markdown, which would be read out. */
function plain(text: string): string {
  return text.replace(/[*_`#|>]+/g, '').replace(/^\s*-\s/gm, '');
}
