import { isDeepStrictEqual } from 'node:util';
import type { ContextUsage, Message, TokenCounter } from '@x/core';
import { countMessage } from '@x/core/messages';
import { type PageEvent, type RequestMessage, type RequestView, textOf } from '../page.js';

/** The conversation in a request, and in the request before. */
interface RequestPair {
  readonly messages: readonly Message[];
  readonly before: readonly Message[];
  readonly usage: ContextUsage | undefined;
}

/** Rebuilds the request of a step, counted from 1, from the events of a session. `undefined` when there was no such step. */
export function requestOf(events: readonly PageEvent[], step: number): RequestPair | undefined {
  const known = new Map<string, Message>();
  let view = new Map<string, Message>();
  let before: readonly Message[] = [];
  let count = 0;
  for (const event of events) {
    if (event.type === 'model.started') {
      count++;
      if (count === step) return { messages: [...view.values()], before, usage: event.context };
      if (count === step - 1) before = [...view.values()];
    } else if ('view' in event && event.view) {
      const messages = event.view.flatMap((part) =>
        typeof part === 'string' ? (known.get(part) ?? []) : [part],
      );
      view = new Map(messages.map((message) => [message.id, message]));
    } else if ('message' in event && typeof event.message === 'object') {
      known.set(event.message.id, event.message);
      if (!view.has(event.message.id)) view.set(event.message.id, event.message);
    }
  }
  return undefined;
}

/** Shows a request message by message, with what changed since the request before. */
export function requestView({ messages, before, usage }: RequestPair, counter: TokenCounter): RequestView {
  const { system = 0, tools = 0, reminders = 0 } = usage ?? {};
  const earlier = new Map(before.map((message) => [message.id, message]));
  const shown = (message: Message, change?: RequestMessage['change']): RequestMessage => ({
    id: message.id,
    source: message.kind === 'summary' ? 'summary' : message.role === 'tool' ? 'toolResults' : 'conversation',
    tokens: countMessage(counter, message),
    text: textOf(message),
    change,
  });
  const now = messages.map((message) => {
    const old = earlier.get(message.id);
    earlier.delete(message.id);
    if (old === undefined) return shown(message, 'added');
    return shown(message, isDeepStrictEqual(old.content, message.content) ? undefined : 'altered');
  });
  return { messages: now, removed: [...earlier.values()].map((old) => shown(old)), system, tools, reminders };
}
