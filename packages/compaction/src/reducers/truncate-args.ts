import { parseWith } from '@x/core/internal';
import * as z from 'zod/mini';
import { countSchema, textSchema } from '../config/values.js';
import { cutMiddle, mapStrings } from '../conversation/text.js';
import type { Reducer } from '../reducer.js';
import { alterArguments } from './alter-messages.js';

const optionsSchema = z
  .strictObject({
    /** When not 0: runs from this many messages on, also when no reduction is due. */
    triggerMessages: z._default(countSchema, 0),
    /** When not 0: runs from this many tokens on, also when no reduction is due. */
    triggerTokens: z._default(countSchema, 0),
    /** The newest messages, whose arguments stay whole. */
    keepMessages: z._default(countSchema, 20),
    /** When not 0: the newest tokens, in place of `keepMessages`. */
    keepTokens: z._default(countSchema, 0),
    /** UTF-16 units that a string argument may have, marker included. */
    maxArgLength: z._default(countSchema, 2_000),
    /** What stands where text was cut. */
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
export function truncateArgs(options: z.input<typeof optionsSchema> = {}): Reducer {
  const settings = parseWith(optionsSchema, options, 'truncateArgs options');
  const { triggerMessages, triggerTokens, maxArgLength, truncationText } = settings;
  const shorten = (text: string) => cutMiddle(text, maxArgLength, truncationText);

  return {
    name: 'truncate_args',
    cost: 'free',
    isDueEarly: (view) =>
      (triggerMessages > 0 && view.messages.length >= triggerMessages) ||
      (triggerTokens > 0 && view.tokens >= triggerTokens),
    reduce: async (view, budget, context) =>
      alterArguments(
        view,
        budget,
        context,
        settings,
        'truncated',
        ({ input }) => mapStrings(input, shorten),
        { truncated: truncationText },
      ),
  };
}
