import type { ContentBlock, JsonValue, Message, MessageFate, ToolUseBlock } from '@x/core';
import * as z from 'zod/mini';
import { countSchema, shareSchema } from '../config/values.js';
import { type StubMarks, withMarks } from '../conversation/marks.js';
import { type KeepWindow, startOfLive, startOfWindow } from '../conversation/regions.js';
import {
  type Fate,
  type Reduction,
  type ReductionTarget,
  type StageContext,
  unchanged,
  type View,
} from '../stage.js';

/** Messages after a change to some of them, with the savings. */
interface Alteration {
  readonly messages: readonly Message[];
  readonly fates: readonly Fate[];
  readonly savedTokens: number;
}

/**
 * Changes the content of messages one by one. Skips a change that does not make its message smaller. Keeps ids, number
 * and order.
 *
 * @param change The new content with notes for the metadata, or nothing to leave the message alone.
 */
export function alterMessages(
  messages: readonly Message[],
  fate: MessageFate,
  { meter }: Pick<StageContext, 'meter'>,
  change: (
    message: Message,
    index: number,
  ) => { readonly content: readonly ContentBlock[]; readonly marks: StubMarks } | undefined,
): Alteration {
  const fates: Fate[] = [];
  let savedTokens = 0;
  const altered = messages.map((message, index) => {
    const changed = change(message, index);
    if (!changed) return message;
    const candidate = withMarks({ ...message, content: changed.content }, changed.marks);
    const saved = meter.message(message) - meter.message(candidate);
    if (saved <= 0) return message;
    savedTokens += saved;
    fates.push({ messageId: message.id, fate });
    return candidate;
  });
  return { messages: fates.length > 0 ? altered : messages, fates, savedTokens };
}

/** The share of the request that a rewrite must save when a reduction is due anyway, and when it is not. */
const MINIMUM_SHARE = { due: 0.05, early: 0.15 };

/**
 * Returns an alteration if it saves enough. Rewriting an old message invalidates the provider's cache after it, so small
 * savings are postponed. A forced reduction accepts any savings.
 */
export function ifWorthwhile(
  view: View,
  budget: ReductionTarget,
  { messages, fates, savedTokens }: Alteration,
): Reduction {
  if (fates.length === 0) return unchanged(view, 'nothing to do');
  const share = budget.early ? MINIMUM_SHARE.early : MINIMUM_SHARE.due;
  if (!budget.forced && savedTokens < view.tokens * share) {
    return unchanged(view, `would save only ${Math.round(savedTokens)} tokens; waits until it saves more`);
  }
  return { messages, fates };
}

/**
 * Changes the arguments of calls before a window, if that saves enough.
 *
 * @param change Returns the new arguments, or the same object to leave them unchanged.
 * @param marks Notes for the metadata of a message that was changed.
 */
export function alterArguments(
  view: View,
  budget: ReductionTarget,
  context: StageContext,
  window: KeepWindow,
  fate: MessageFate,
  change: (call: ToolUseBlock, message: Message) => JsonValue,
  marks: StubMarks,
): Reduction {
  const { messages } = view;
  const end = Math.min(startOfWindow(messages, window, context.meter), startOfLive(messages));
  const alteration = alterMessages(messages, fate, context, (message, index) => {
    if (index >= end) return undefined;
    const content = message.content.map((block) => {
      const input = block.type === 'tool_use' ? change(block, message) : undefined;
      return block.type !== 'tool_use' || input === block.input ? block : { ...block, input: input ?? null };
    });
    return content.some((block, place) => block !== message.content[place]) ? { content, marks } : undefined;
  });
  return ifWorthwhile(view, budget, alteration);
}

/** How much a reduction must save to count: both; `false`: fewer messages are enough, also where a summary of them is longer. */
export const savingSchema = z.union([
  z.literal(false),
  z.strictObject({
    /** The share of the conversation that a reduction must save. */
    share: z._default(shareSchema, 0.05),
    /** The tokens that a reduction must save. */
    tokens: z._default(countSchema, 16),
  }),
]);

type Saving = z.output<typeof savingSchema>;

/** Tests if a conversation fell by the share and by the number of tokens that make a reduction worthwhile. */
export function savesEnough(before: number, after: number, minimum: Saving): boolean {
  if (minimum === false) return true;
  const saved = before - after;
  return saved > 0 && saved >= Math.max(before * minimum.share, minimum.tokens);
}

/** Tests if a reduction removed enough messages to be worthwhile. */
export function savesMessages(before: number, after: number, minimum: Saving): boolean {
  return minimum === false || (after < before && before - after >= before * minimum.share);
}
