import { parseWith } from '@x/core';
import type * as z from 'zod';
import { truncateArgsSchema } from '../config/stage-schemas.js';
import { cutMiddle, mapStrings } from '../conversation/text.js';
import type { Reducer } from '../reducer.js';
import { alterArguments } from './alter-messages.js';

/**
 * Cuts string arguments of old tool calls that are longer than `maxArgLength` 2 000: mostly contents of files that the agent
 * has written. The arguments stay valid JSON; names and other values are untouched. May have a lower trigger of its own.
 */
export function truncateArgs(options: z.input<typeof truncateArgsSchema> = {}): Reducer {
  const settings = parseWith(truncateArgsSchema, options, 'truncateArgs options');
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
