import { isDeepStrictEqual } from 'node:util';
import { type Message, type TokenCounter, toolResultsOf, toolUsesOf } from '@x/core';
import { countMessage } from '@x/core/messages';
import { renderCall, type SeenRequest } from '@x/harness/view';
import { inOneLine, type RequestMessage, type RequestView, textOf } from '../page.js';

/** Returns a request message by message, with the changes since the previous place. */
export function requestView(
  { messages, before }: Pick<SeenRequest, 'messages' | 'before'>,
  counter: TokenCounter,
): RequestView {
  const earlier = new Map(before.map((message) => [message.id, message]));
  const calls = new Map(
    [...before, ...messages].flatMap(toolUsesOf).map((call) => [call.id, renderCall(call).title]),
  );
  const shown = (message: Message, change?: RequestMessage['change'], old?: Message): RequestMessage => ({
    id: message.id,
    source: message.kind === 'summary' ? 'summary' : message.role === 'tool' ? 'toolResults' : 'conversation',
    label: labelOf(message, calls) + (message.kind === 'summary' && old ? ', and of the earlier one' : ''),
    tokens: countMessage(counter, message),
    text: textOf(message),
    change,
    before: old && textOf(old),
  });
  // A compaction writes a new summary, and an undo restores the one before it: they are shown as one message, before and after.
  const summary = before.findLast(
    ({ id, kind }) => kind === 'summary' && !messages.some((one) => one.id === id),
  );
  const now = messages.map((message) => {
    const old = earlier.get(message.id);
    const former = message.kind === 'summary' && old === undefined ? summary : old;
    earlier.delete(former?.id ?? '');
    if (old === undefined) return shown(message, 'added', former);
    return isDeepStrictEqual(old.content, message.content) ? shown(message) : shown(message, 'changed', old);
  });
  return { messages: now, removed: [...earlier.values()].map((old) => shown(old)) };
}

/** Describes a message in one line: its kind, and its subject. */
function labelOf(message: Message, calls: ReadonlyMap<string, string>): string {
  if (message.kind === 'summary') return 'Summary of what was removed';
  const answered = toolResultsOf(message).map(({ toolUseId, toolName }) => calls.get(toolUseId) ?? toolName);
  const called = toolUsesOf(message).map(({ id }) => calls.get(id) ?? '');
  const said = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(' ');
  const words = [answered.join(', '), inOneLine(said), called.join(', ')].filter(Boolean).join(' → ');
  const who = { user: 'You', assistant: 'Agent', tool: 'Result', system: 'System' }[message.role];
  return `${who}: ${inOneLine(words)}`;
}
