import type { ContentBlock, JsonValue, Message, MessageFate, ToolUseBlock } from '@x/core';
import * as z from 'zod/mini';
import { countSchema, shareSchema } from '../config/values.js';
import { type StubMarks, withMarks } from '../conversation/marks.js';
import { type KeepWindow, startOfLive, startOfWindow } from '../conversation/regions.js';
import { type Fate, type Reduction, type Stage, unchanged } from '../stage.js';

/** The input of a stage. */
type Given = Parameters<Stage['reduce']>;

/** A new content, with notes for the metadata. */
interface Change {
  readonly content: readonly ContentBlock[];
  readonly marks: StubMarks;
}

/** The share of the request that a rewrite must save: `due` if a reduction is due, `early` if not. */
const MINIMUM_SHARE = { due: 0.05, early: 0.15 };

/**
 * Changes the content of messages one by one, if that saves enough. Skips a change that does not make its message smaller. Rewriting an old
 * message invalidates the provider's cache after it, so small savings are postponed. A forced reduction accepts any savings.
 *
 * @param change Returns `undefined` to leave the message unchanged.
 */
export function alterMessages(
  [view, budget, { meter }]: Given,
  fate: MessageFate,
  change: (message: Message, index: number) => Change | undefined,
): Reduction {
  const fates: Fate[] = [];
  let saved = 0;
  const messages = view.messages.map((message, index) => {
    const changed = change(message, index);
    if (!changed) return message;
    const candidate = withMarks({ ...message, content: changed.content }, changed.marks);
    const fewer = meter.message(message) - meter.message(candidate);
    if (fewer <= 0) return message;
    saved += fewer;
    fates.push({ messageId: message.id, fate });
    return candidate;
  });
  if (fates.length === 0) return unchanged(view, 'nothing to do');
  const share = budget.early ? MINIMUM_SHARE.early : MINIMUM_SHARE.due;
  if (!budget.forced && saved < view.tokens * share) {
    return unchanged(view, `would save only ${Math.round(saved)} tokens, which is not worth a rewrite yet`);
  }
  return { messages, fates };
}

/**
 * Changes the arguments of calls that are older than a window, if that saves enough.
 *
 * @param change Returns the new arguments, or the same object to leave them unchanged.
 * @param marks Notes for the metadata of a message that was changed.
 */
export function alterArguments(
  given: Given,
  window: KeepWindow,
  fate: MessageFate,
  change: (call: ToolUseBlock, message: Message) => JsonValue,
  marks: StubMarks,
): Reduction {
  const [{ messages }, , { meter }] = given;
  const end = Math.min(startOfWindow(messages, window, meter), startOfLive(messages));
  return alterMessages(given, fate, (message, index) => {
    if (index >= end) return undefined;
    const content = message.content.map((block) => {
      const input = block.type === 'tool_use' ? change(block, message) : undefined;
      return block.type !== 'tool_use' || input === block.input ? block : { ...block, input: input ?? null };
    });
    return content.some((block, place) => block !== message.content[place]) ? { content, marks } : undefined;
  });
}

/** The minimum that a reduction must save: both the share and the tokens. `false`: fewer messages are enough, even with more tokens. */
export const savingSchema = z.union([
  z.literal(false),
  z.strictObject({
    /** The share of the conversation that a compaction must save. */
    share: z._default(shareSchema, 0.05),
    /** The tokens that a compaction must save. */
    tokens: z._default(countSchema, 16),
  }),
]);

type Saving = z.output<typeof savingSchema>;

/** Tests if a reduction saves at least the minimum share and the minimum tokens. */
export function savesEnough(before: number, after: number, minimum: Saving): boolean {
  if (minimum === false) return true;
  const saved = before - after;
  return saved > 0 && saved >= Math.max(before * minimum.share, minimum.tokens);
}

/** Tests if a reduction removed enough messages to be worthwhile. */
export function savesMessages(before: number, after: number, minimum: Saving): boolean {
  return minimum === false || (after < before && before - after >= before * minimum.share);
}
