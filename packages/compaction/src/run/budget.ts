import type { CompactionReason } from '@x/core';
import * as z from 'zod/mini';
import { countSchema, shareSchema } from '../config/values.js';
import { isHeavyInText, type ReductionTarget, type View } from '../stage.js';
import type { Keep, SummarizeOptions } from '../summary/options.js';

/** Share of the window at which a reduction is due if no trigger is set. */
const TRIGGER_SHARE = 0.85;

/** Bytes of a request at which files are removed: providers reject requests of 32 MB, and gateways smaller ones. */
const HEAVY_BYTES = 20_000_000;

/** When a reduction is due. */
export const triggerSchema = z.pipe(
  z.strictObject(
    {
      /** A share of the context window: the default trigger, with 0.85. */
      share: z.optional(shareSchema),
      /** A number of tokens. */
      tokens: z.optional(countSchema),
      /** A number of messages. */
      messages: z.optional(countSchema),
      /**
       * Bytes of texts and encoded files. Works in addition to any other trigger: above this size, older files are replaced by references,
       * which `recall` opens. 0: never.
       */
      bytes: z._default(countSchema, HEAVY_BYTES),
    },
    {
      error: ({ code }) =>
        code === 'invalid_type'
          ? 'must be an object: { share: 0.5 } for a share of the window, { tokens } or { messages }'
          : undefined,
    },
  ),
  z.transform((trigger) => {
    const named = trigger.share ?? trigger.tokens ?? trigger.messages;
    return named === undefined ? { ...trigger, share: TRIGGER_SHARE } : trigger;
  }),
);

/** The size that a reduction aims for. */
export const targetSchema = z.union([
  z
    .number()
    .check(
      z.gt(0),
      z.lt(1, 'must be a share of the trigger point, below 1; for tokens write { tokens: 60000 }'),
    ),
  z.strictObject({ tokens: z.int().check(z.minimum(1)) }),
]);

/** Context window, in tokens, if neither options nor model name one. */
export const FALLBACK_CONTEXT_WINDOW = 128_000;

/** The share of a window that is left for the model's answer. */
const ANSWER_SHARE = 0.1;

/** Computes the maximum tokens of a request: the window less the room for the answer. */
export function mostTokensOf(contextWindow: number): number {
  return Math.floor(contextWindow * (1 - ANSWER_SHARE));
}

/** The settings that determine sizes. */
interface Sizes {
  readonly trigger: z.output<typeof triggerSchema>;
  readonly target?: z.output<typeof targetSchema> | undefined;
  readonly keep: Keep;
  readonly summary: Pick<SummarizeOptions, 'record'>;
}

/** Default target, as a share of the trigger point: a reduction leaves about half of the window. */
const TARGET_SHARE = 0.5;
/** Share of the trigger point at which a reduction is complete, so that the next one is not due at once. */
const ENOUGH_SHARE = 0.9;

/** Returns the tokens at which a reduction is due; `Infinity` if no trigger counts tokens. */
function tokenTrigger({ share = 0, tokens = 0 }: Sizes['trigger'], contextWindow: number): number {
  return Math.min(share > 0 ? Math.floor(contextWindow * share) : Infinity, tokens > 0 ? tokens : Infinity);
}

/** The window of the model that reads the conversation. */
export interface ContextWindow {
  readonly tokens: number;
  /** `false` if the window is an assumption. Then only a trigger makes a reduction due. */
  readonly isKnown: boolean;
}

/** Makes a window of the first size that is set. */
export function contextWindowOf(...named: readonly (number | undefined)[]): ContextWindow {
  const tokens = named.find((size) => size !== undefined);
  return { tokens: tokens ?? FALLBACK_CONTEXT_WINDOW, isKnown: tokens !== undefined };
}

/** Tests if a proactive reduction is due: a trigger is reached, or the request exceeds its maximum size. */
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
 * Computes the sizes that a reduction for this reason aims for.
 *
 * @param isMeasured The provider reported the sizes of the request and of the window, so the token count is reliable.
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
  // The request is too large for the model by an unknown factor, and there is only one retry, so aim for half.
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

/**
 * Default share of the trigger point for the record. If that is less than `USEFUL_RECORD` tokens, the record gets more, up to
 * `USEFUL_RECORD` tokens or `MOST_RECORD_SHARE`.
 */
const RECORD_SHARE = 0.25;
const MOST_RECORD_SHARE = 0.5;
const USEFUL_RECORD = 2_600;

/** Returns the maximum tokens of a record. */
export function recordTokens(share: number | undefined, dueTokens: number): number {
  if (share !== undefined) return dueTokens * share;
  return Math.max(dueTokens * RECORD_SHARE, Math.min(USEFUL_RECORD, dueTokens * MOST_RECORD_SHARE));
}

/**
 * Returns the maximum tokens of the user's requests in front of a summary, except the latest request. At a low trigger point they get more,
 * because a list of requirements has the same length in any window; at a very low one not, because the newest messages need the room.
 */
export function requestTokens(share: number, { contextWindow, dueTokens }: ReductionTarget): number {
  const window = Math.min(contextWindow, dueTokens * 1.2);
  return share * Math.max(window, Math.min(12_000, dueTokens * 2 - 3_500));
}

/** Returns the target in tokens. The default includes the sizes in `keep`, but is never above `ENOUGH_SHARE`. */
function targetOf({ target, keep, summary }: Sizes, dueTokens: number): number {
  const most = Math.floor(dueTokens * ENOUGH_SHARE);
  if (typeof target === 'object') return Math.min(target.tokens, most);
  if (typeof target === 'number') return Math.floor(dueTokens * target);
  const kept = Math.max(keep.tokens ?? 0, dueTokens * (keep.share ?? 0));
  const record = recordTokens(summary.record, dueTokens);
  const wanted = kept > 0 ? kept + record : 0;
  // In a small window the record is larger. The target grows with it, so that as much stays verbatim.
  const more = summary.record === undefined ? record - dueTokens * RECORD_SHARE : 0;
  return Math.min(most, Math.floor(Math.max(dueTokens * TARGET_SHARE + more, wanted)));
}

/**
 * Tests if a view meets its budget, so that the cascade can stop. A manual reduction continues until a stage has condensed the older part.
 * After that, a view below the trigger is enough. After an overflow, the number of messages is ignored.
 */
export function fits(view: View, budget: ReductionTarget, condensed: boolean): boolean {
  const most = condensed ? budget.dueTokens : budget.enoughTokens;
  if (budget.early || view.tokens > most || isHeavyInText(view, budget)) return false;
  if (condensed || budget.reason === 'request_too_large') return true;
  return budget.reason === 'proactive_budget' && view.messages.length <= budget.targetMessages;
}
