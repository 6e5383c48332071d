import { signal } from '@preact/signals';
import { renderCall } from '@x/harness/view';
import type { Sent } from '../../../src/page.js';

/** The text that screen readers announce. */
export const announcement = signal('');

let unspoken = '';

/** Combines recent events into one text, because an announcement interrupts the previous one. */
export function announce(items: readonly Sent[]): void {
  const words = items.map(wordsFor).filter(Boolean).join(' ').trim();
  if (words) announcement.value = words;
}

/** Removes Markdown marks from an answer, which would be read out. Names and code stay as they are. */
function spoken(text: string): string {
  return text.replace(/(`+)(.+?)\1|[*|]+|(?<!\w)_+|_+(?!\w)|^[ \t]*[#>-]+\s/gm, '$2');
}

/** Returns the words for an item. Answers are announced sentence by sentence, because single words would interrupt each other. */
function wordsFor(item: Sent): string {
  switch (item.type) {
    case 'text.delta': {
      const sentences = `${unspoken}${item.text}`.split(/(?<=[.!?:])\s+/);
      unspoken = sentences.pop() ?? '';
      return sentences.map(spoken).join(' ');
    }
    case 'draft.discarded':
      unspoken = '';
      return '';
    case 'model.completed': {
      const rest = unspoken;
      unspoken = '';
      return spoken(rest);
    }
    case 'tool.call':
      return `Runs ${item.call.name}.`;
    case 'permission.required':
      return item.calls.map((call) => `It wants to ${renderCall(call).wants}, and waits for you.`).join(' ');
    case 'context.compacted':
      return `Compaction ${item.status}: ${item.messagesBefore} to ${item.messagesAfter} messages.`;
    case 'call.completed':
      return item.stopReason === 'completed' ? 'Reply complete.' : 'Reply ended.';
    case 'call.failed':
      return `Failed: ${item.error.message}`;
    default:
      return '';
  }
}
