import type { ContentBlock, JsonObject, Message, MessageFate } from '@x/core';
import { keepFacts } from '../ledger/facts.js';
import { withMarks } from '../conversation/marks.js';
import type { Fate, ReducerContext } from '../reducer.js';

/** Messages after a change to some of them, with what it saves. */
export interface Alteration {
  readonly messages: readonly Message[];
  readonly fates: readonly Fate[];
  readonly savedTokens: number;
}

/**
 * Changes the content of messages one by one. A change that does not make its message smaller is not made. Ids, number
 * and order stay; what a ledger would have found in the old content stays with the new message.
 *
 * @param change The new content with notes for the metadata, or nothing to leave the message alone.
 */
export function alterMessages(
  messages: readonly Message[],
  fate: MessageFate,
  { meter, redact }: Pick<ReducerContext, 'meter' | 'redact'>,
  change: (
    message: Message,
    index: number,
  ) => { readonly content: readonly ContentBlock[]; readonly marks: JsonObject } | undefined,
): Alteration {
  const fates: Fate[] = [];
  let savedTokens = 0;
  const altered = messages.map((message, index) => {
    const changed = change(message, index);
    if (!changed) return message;
    const changedMessage = withMarks({ ...message, content: changed.content }, changed.marks);
    const candidate = keepFacts(message, changedMessage, redact);
    const saved = meter.message(message) - meter.message(candidate);
    if (saved <= 0) return message;
    savedTokens += saved;
    fates.push({ messageId: message.id, fate });
    return candidate;
  });
  return { messages: fates.length > 0 ? altered : messages, fates, savedTokens };
}
