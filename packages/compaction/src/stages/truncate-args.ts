import type { ToolUseBlock } from '@x/core';
import { parseWith } from '@x/core/internal';
import * as z from 'zod/mini';
import { countSchema, textSchema } from '../config/values.js';
import { cutMiddle, mapStrings } from '../conversation/text.js';
import { type Stage, unchanged, type View } from '../stage.js';
import { alterArguments } from './alter-messages.js';

/**
 * Due by tokens alone, arguments are cut once that leaves this share of the trigger, or this share of the request: a cut at every step
 * would void the provider's cache at every step.
 */
const LOWER_MARK = 0.8;
const MOST_LEFT = 2 / 3;

const optionsSchema = z
  .strictObject({
    /** When not 0: runs from this many messages on, also when no reduction is due. */
    triggerMessages: z._default(countSchema, 0),
    /** When not 0: runs from this many tokens on, also when no reduction is due. */
    triggerTokens: z._default(countSchema, 0),
    /** The newest messages, whose arguments stay whole. */
    keepMessages: z._default(countSchema, 20),
    /** When not 0: the newest tokens, instead of `keepMessages`. */
    keepTokens: z._default(countSchema, 0),
    /** UTF-16 units that a string argument may have, marker included. */
    maxArgLength: z._default(countSchema, 2_000),
    /** The marker in place of the cut text. */
    truncationText: z._default(textSchema, '... [truncated] ...'),
  })
  .check(
    z.refine(({ maxArgLength, truncationText }) => truncationText.length < maxArgLength, {
      path: ['maxArgLength'],
      error: 'must be longer than truncationText; leave the stage out to keep arguments whole',
    }),
  );

/**
 * Cuts string arguments of old tool calls that are longer than `maxArgLength` 2 000: mostly contents of files that the agent
 * has written. The arguments stay valid JSON; names and other values are untouched. May have a lower trigger of its own.
 */
export function truncateArgs(options: z.input<typeof optionsSchema> = {}): Stage {
  const settings = parseWith(optionsSchema, options, 'truncateArgs options');
  const { triggerMessages, triggerTokens, maxArgLength, truncationText } = settings;
  const shorten = (text: string) => cutMiddle(text, maxArgLength, truncationText);
  const isDueByMessages = ({ messages }: View) => triggerMessages > 0 && messages.length >= triggerMessages;

  return {
    name: 'truncate_args',
    cost: 'free',
    isDueEarly: (view) => isDueByMessages(view) || (triggerTokens > 0 && view.tokens >= triggerTokens),
    async reduce(...given) {
      const [view, budget, context] = given;
      const change = ({ input }: ToolUseBlock) => mapStrings(input, shorten);
      const reduction = alterArguments(given, settings, 'truncated', change, { truncated: truncationText });
      if (!budget.early || isDueByMessages(view) || reduction.messages === view.messages) return reduction;
      const tokens = view.fixedTokens + context.meter.messages(reduction.messages);
      const mark = triggerTokens * LOWER_MARK;
      if (tokens <= mark || tokens <= view.tokens * MOST_LEFT) return reduction;
      return unchanged(view, `would leave ${Math.round(tokens)} tokens; waits until it leaves ${mark}`);
    },
  };
}
