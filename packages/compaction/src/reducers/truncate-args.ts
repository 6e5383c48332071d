import { type Message, parseWith } from '@x/core';
import type * as z from 'zod';
import { truncateArgsSchema } from '../config/stage-schemas.js';
import { startOfLive, startOfWindow } from '../conversation/regions.js';
import { cutMiddle, mapStrings } from '../conversation/text.js';
import type { Reducer } from '../reducer.js';
import { alterMessages, ifWorthwhile } from './alter-messages.js';

/**
 * Cuts string arguments of old tool calls that are longer than `maxArgLength` 2 000: mostly contents of files that the agent
 * has written. The arguments stay valid JSON; names and other values are untouched. May have a lower trigger of its own.
 */
export function truncateArgs(options: z.input<typeof truncateArgsSchema> = {}): Reducer {
  const settings = parseWith(truncateArgsSchema, options, 'truncateArgs options');
  const { triggerMessages, triggerTokens, maxArgLength, truncationText } = settings;
  const shorten = (text: string) => cutMiddle(text, maxArgLength, truncationText);

  function truncated(message: Message) {
    let changed = false;
    const content = message.content.map((block) => {
      if (block.type !== 'tool_use') return block;
      const input = mapStrings(block.input, shorten);
      if (input === block.input) return block;
      changed = true;
      return { ...block, input };
    });
    return changed ? { content, marks: { truncated: truncationText } } : undefined;
  }

  return {
    name: 'truncate_args',
    cost: 'free',
    isDueEarly: (view) =>
      (triggerMessages > 0 && view.messages.length >= triggerMessages) ||
      (triggerTokens > 0 && view.tokens >= triggerTokens),
    async reduce(view, budget, context) {
      const { meter } = context;
      const end = Math.min(startOfWindow(view.messages, settings, meter), startOfLive(view.messages));
      const alteration = alterMessages(view.messages, 'truncated', context, (message, index) =>
        index < end ? truncated(message) : undefined,
      );
      return ifWorthwhile(view, budget, alteration);
    },
  };
}
