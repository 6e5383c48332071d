import { signal } from '@preact/signals';
import { toolUsesOf } from '@x/core';
import { renderCall } from '@x/harness/view';
import { type Sent, textOf } from '../../../src/page.js';
import { decisionInWords, endings } from './transcript.js';

/** The text that screen readers announce. */
export const announcement = signal('');

/** The answer of the running call, announced as a whole at its end. */
let answer = '';
/** The completed todos; `undefined` until a session's first state. */
let done: readonly string[] | undefined;

/** Combines recent events into one text, because an announcement interrupts the previous one. */
export function announce(items: readonly Sent[]): void {
  const words = items.map(wordsFor).filter(Boolean).join(' ').trim();
  if (words) announcement.value = words;
}

/** Removes Markdown marks from an answer, which would be read out. Names and code stay as they are. */
function spoken(text: string): string {
  // Bounded because only the first 20 000 characters of an answer are announced.
  return text.slice(0, 20_000).replace(/`([^`]+)`|[`*|]+|(?<!\w)_+|_+(?!\w)|^[ \t]*[#>-]+\s/gm, '$1');
}

/**
 * Returns the words for an item. Of the agent's intermediate steps, only completed todos are announced, because every announcement
 * interrupts the previous one.
 */
function wordsFor(item: Sent): string {
  switch (item.type) {
    case 'history':
      done = undefined;
      return '';
    case 'state': {
      const before = done;
      done = item.state.todos.flatMap(({ status, content }) => (status === 'completed' ? [content] : []));
      if (before === undefined) return item.state.pending.length > 0 ? 'It waits for your decision.' : '';
      return done.map((todo) => (before.includes(todo) ? '' : `Done: ${todo}.`)).join(' ');
    }
    case 'model.completed':
      answer = toolUsesOf(item.message).length > 0 ? '' : spoken(textOf(item.message));
      return '';
    case 'permission.required':
      return item.calls
        .map((call) => `It wants to ${renderCall(call).wants}. It waits for your decision.`)
        .join(' ');
    case 'permission.decided':
      return decisionInWords(item);
    case 'context.compacted':
      return `Compaction ${item.status}: ${item.messagesBefore} to ${item.messagesAfter} messages.`;
    case 'call.completed': {
      const said = answer;
      answer = '';
      if (item.stopReason === 'permission_required') return '';
      return `${said} ${endings[item.stopReason] ?? 'Reply complete.'}`;
    }
    case 'warning':
      return spoken(item.message);
    case 'call.failed':
      return `Failed: ${item.error.message}`;
    default:
      return '';
  }
}
