import type { CompactionReason } from '@x/core';
import * as z from 'zod/mini';
import { countSchema, shareSchema } from '../config/values.js';
import { isHeavy, type ReductionTarget, type View } from '../stage.js';
import type { Keep, SummarizeOptions } from '../summary/options.js';

/** The share of the window at which a reduction is due where no trigger is named. */
const TRIGGER_SHARE = 0.85;

/** Bytes of a request from which on files make way: providers refuse requests of 32 MB, and gateways smaller ones. */
const HEAVY_BYTES = 20_000_000;

/** When a reduction is due. */
export const triggerSchema = z.pipe(
  z.strictObject(
    {
      /** A share of the context window. Default 0.85, unless you set another trigger. */
      share: z.optional(shareSchema),
      /** A number of tokens. */
      tokens: z.optional(countSchema),
      /** A number of messages. */
      messages: z.optional(countSchema),
      /** Bytes of texts and encoded files, beside any other trigger: older files become references, which `recall` opens; 0 for never. */
      bytes: z._default(countSchema, HEAVY_BYTES),
    },
    {
      error: ({ code, input }) =>
        code === 'invalid_type' && typeof input === 'number'
          ? `must not be a bare number: write { share: ${input < 1 ? input : TRIGGER_SHARE} } for a share of the window, else { tokens } or { messages }`
          : undefined,
    },
  ),
  z.transform((trigger) => {
    const named = trigger.share ?? trigger.tokens ?? trigger.messages;
    return named === undefined ? { ...trigger, share: TRIGGER_SHARE } : trigger;
  }),
);

/** What a reduction aims for. */
export const targetSchema = z.union([
  z
    .number()
    .check(
      z.gt(0),
      z.lt(1, 'must be a share of the trigger point, below 1; for tokens write { tokens: 60000 }'),
    ),
  z.strictObject({ tokens: z.int().check(z.minimum(1)) }),
]);

/** The context window, in tokens, to assume where neither options nor model name one. */
export const FALLBACK_CONTEXT_WINDOW = 128_000;

/** The share of a window that is left for the model's answer. */
const ANSWER_SHARE = 0.1;

/** Computes what a request must not exceed: the window less the room for the answer. */
export function mostTokensOf(contextWindow: number): number {
  return Math.floor(contextWindow * (1 - ANSWER_SHARE));
}

/** The settings that sizes follow from. */
interface Sizes {
  readonly trigger: z.output<typeof triggerSchema>;
  readonly target?: z.output<typeof targetSchema> | undefined;
  readonly keep: Keep;
  readonly summary: Pick<SummarizeOptions, 'record'>;
}

/** The share of the trigger point that a reduction leaves where nothing is named: about half of the window. */
const TARGET_SHARE = 0.5;
/** At this share of the trigger point a reduction is done: the next one is not due at once. */
const ENOUGH_SHARE = 0.9;

/** Tokens from which on a reduction is due; `Infinity` when no trigger counts tokens. */
function tokenTrigger({ share = 0, tokens = 0 }: Sizes['trigger'], contextWindow: number): number {
  return Math.min(share > 0 ? Math.floor(contextWindow * share) : Infinity, tokens > 0 ? tokens : Infinity);
}

/** The window of the model that reads the conversation. */
export interface ContextWindow {
  readonly tokens: number;
  /** `false` where nobody named it: then it is assumed, and only a trigger makes a reduction due. */
  readonly isKnown: boolean;
}

/** Makes the window of the first size that is named. */
export function contextWindowOf(...named: readonly (number | undefined)[]): ContextWindow {
  const tokens = named.find((size) => size !== undefined);
  return { tokens: tokens ?? FALLBACK_CONTEXT_WINDOW, isKnown: tokens !== undefined };
}

/** Tests if a proactive reduction is due: a trigger is reached, or the request exceeds what may be sent. */
export function isDue(
  { trigger }: Pick<Sizes, 'trigger'>,
  { tokens: window, isKnown }: ContextWindow,
  tokens: number,
  messages: number,
  bytes = 0,
): boolean {
  if (trigger.messages && messages >= trigger.messages) return true;
  if (trigger.bytes > 0 && bytes >= trigger.bytes) return true;
  return tokens >= tokenTrigger(trigger, window) || (isKnown && tokens > mostTokensOf(window));
}

/**
 * Computes the aim of a reduction for this reason.
 *
 * @param isMeasured The provider told the size of the request and of its window, so that the count is right.
 */
export function budgetFor(
  config: Sizes,
  reason: CompactionReason,
  contextWindow: number,
  tokensBefore: number,
  isMeasured = false,
): ReductionTarget {
  const { messages = 0 } = config.trigger;
  let mostTokens = mostTokensOf(contextWindow);
  let dueTokens = Math.min(tokenTrigger(config.trigger, contextWindow), mostTokens);
  // Too large for the model, and nobody said by how much: the count is wrong by an unknown factor, and there is one retry.
  if (reason === 'request_too_large' && !isMeasured) {
    dueTokens = Math.min(dueTokens, Math.floor(Math.min(tokensBefore, contextWindow) / 2));
    mostTokens = Math.min(mostTokens, dueTokens);
  }
  const targetTokens = targetOf(config, dueTokens);
  return {
    reason,
    contextWindow,
    dueTokens,
    mostTokens,
    targetTokens,
    enoughTokens: Math.max(targetTokens, Math.floor(dueTokens * ENOUGH_SHARE)),
    dueBytes: config.trigger.bytes > 0 ? config.trigger.bytes : Number.POSITIVE_INFINITY,
    dueMessages: messages > 0 ? messages : Number.POSITIVE_INFINITY,
    targetMessages:
      messages > 0
        ? Math.floor(messages * (typeof config.target === 'number' ? config.target : TARGET_SHARE))
        : Number.POSITIVE_INFINITY,
    forced: reason !== 'proactive_budget',
    early: false,
  };
}

/** The record's share of the trigger point where none is named; in a small window more, up to tokens in which much can be said. */
const RECORD_SHARE = 0.25;
const MOST_RECORD_SHARE = 0.5;
const USEFUL_RECORD = 2_600;

/** Tokens that a record may have. */
export function recordTokens(share: number | undefined, dueTokens: number): number {
  if (share !== undefined) return dueTokens * share;
  return Math.max(dueTokens * RECORD_SHARE, Math.min(USEFUL_RECORD, dueTokens * MOST_RECORD_SHARE));
}

/** Tokens to aim for. The default makes room for what the user wants kept; never more than is enough. */
function targetOf({ target, keep, summary }: Sizes, dueTokens: number): number {
  const most = Math.floor(dueTokens * ENOUGH_SHARE);
  if (typeof target === 'object') return Math.min(target.tokens, most);
  if (typeof target === 'number') return Math.floor(dueTokens * target);
  const kept = Math.max(keep.tokens ?? 0, dueTokens * (keep.share ?? 0));
  const record = recordTokens(summary.record, dueTokens);
  const wanted = kept > 0 ? kept + record : 0;
  // The larger record of a small window takes nothing from what stays verbatim.
  const more = summary.record === undefined ? record - dueTokens * RECORD_SHARE : 0;
  return Math.min(most, Math.floor(Math.max(dueTokens * TARGET_SHARE + more, wanted)));
}

/**
 * Tests if a view meets its budget, so that the cascade can stop. A reduction asked for by hand continues until the older
 * part was condensed; condensed once, it is not condensed again as long as it is below the trigger. After an overflow the
 * number of messages does not matter.
 */
export function fits(view: View, budget: ReductionTarget, condensed: boolean): boolean {
  if (
    budget.early ||
    isHeavy(view, budget) ||
    view.tokens > (condensed ? budget.dueTokens : budget.enoughTokens)
  )
    return false;
  if (condensed || budget.reason === 'request_too_large') return true;
  return budget.reason === 'proactive_budget' && view.messages.length <= budget.targetMessages;
}
