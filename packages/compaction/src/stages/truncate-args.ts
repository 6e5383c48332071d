import type { ToolUseBlock } from '@x/core';
import { parseWith } from '@x/core/internal';
import * as z from 'zod/mini';
import { countSchema, textSchema } from '../config/values.js';
import { cutMiddle, mapStrings } from '../conversation/text.js';
import { type Stage, unchanged, type View } from '../stage.js';
import { alterArguments } from './alter-messages.js';

/**
 * If only a token trigger is reached, arguments are cut once that leaves at most this share of the trigger or of the request. Cutting at
 * every step would invalidate the provider's cache at every step.
 */
const LOWER_MARK = 0.8;
const MOST_LEFT = 2 / 3;

const optionsSchema = z
  .strictObject({
    /** If not 0: also runs if no compaction is due, from this many messages. */
    triggerMessages: z._default(countSchema, 0),
    /** If not 0: also runs if no compaction is due, from this many tokens. */
    triggerTokens: z._default(countSchema, 0),
    /** Number of newest messages whose arguments stay whole. */
    keepMessages: z._default(countSchema, 20),
    /** If not 0: newest tokens whose arguments stay whole, instead of `keepMessages`. */
    keepTokens: z._default(countSchema, 0),
    /** Maximum UTF-16 units of a string argument, including the marker. */
    maxArgLength: z._default(countSchema, 2_000),
    /** The marker in place of the cut text. */
    truncationText: z._default(textSchema, '... [truncated] ...'),
  })
  .check(
    z.refine(({ maxArgLength, truncationText }) => truncationText.length < maxArgLength, {
      path: ['maxArgLength'],
      error: 'must be longer than truncationText. To keep arguments whole, remove the stage',
    }),
  );

/**
 * Cuts string arguments of old tool calls that are longer than `maxArgLength` (2 000). These are mostly contents of files that the agent
 * wrote. The arguments stay valid JSON; keys and other values are unchanged. The stage can have its own, lower trigger.
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
      return unchanged(
        view,
        `would leave ${Math.round(tokens)} tokens; cuts only once that leaves at most ${mark}`,
      );
    },
  };
}
