import type { SessionHistoryMutation } from '@openai/agents';
import type { ItemChange, ItemLog, Message } from '@x/core';
import { toStored } from './stored-item.js';

/** What mutations change: the first call of an id becomes the replacement, further ones of the same id go. */
export function planMutations(
  mutations: readonly SessionHistoryMutation[],
  messages: readonly Message[],
  log: ItemLog,
): ItemChange | undefined {
  let changed = messages;
  for (const { callId, replacement } of mutations) {
    const isCall = (message: Message) => {
      const item = log.item(message);
      return item.type === 'function_call' && item.callId === callId;
    };
    const first = changed.findIndex(isCall);
    changed = changed
      .map((message, index) => (index === first ? toStored(log, replacement) : message))
      .filter((message, index) => index <= first || first === -1 || !isCall(message));
  }
  const keep = messages.findIndex((message, index) => message !== changed[index]);
  return keep === -1 ? undefined : { keep, append: changed.slice(keep) };
}
