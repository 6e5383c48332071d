import type { Message } from '@x/core';
import { parseWith } from '@x/core/internal';
import * as z from 'zod/mini';
import { countSchema, shareSchema } from '../config/values.js';
import { type Fate, type Stage, unchanged } from '../stage.js';

const optionsSchema = z.strictObject({
  /** If not 0: also runs if no reduction is due, from this share of the window. */
  trimThreshold: z._default(shareSchema, 0),
  /** If not 0: runs from this many tokens instead of `trimThreshold`. */
  trimMaxTokens: z._default(countSchema, 0),
});

/** Keeps only the last of identical injected messages. Does not change other messages. */
export function trimSynthetic(options: z.input<typeof optionsSchema> = {}): Stage {
  const { trimThreshold, trimMaxTokens } = parseWith(optionsSchema, options, 'trimSynthetic options');
  return {
    name: 'trim_synthetic',
    cost: 'free',
    isDueEarly(view, budget) {
      const threshold = trimMaxTokens > 0 ? trimMaxTokens : trimThreshold * budget.contextWindow;
      return threshold > 0 && view.tokens >= threshold;
    },
    async reduce(view) {
      const last = new Map<string, Message>();
      for (const message of view.messages) {
        if (message.kind === 'synthetic') last.set(contentKey(message), message);
      }
      const fates: Fate[] = [];
      const messages = view.messages.filter((message) => {
        const stays = message.kind !== 'synthetic' || last.get(contentKey(message)) === message;
        if (!stays) fates.push({ messageId: message.id, fate: 'trimmed' });
        return stays;
      });
      return fates.length > 0 ? { messages, fates } : unchanged(view, 'no injected message is repeated');
    },
  };
}

function contentKey(message: Message): string {
  return `${message.role} ${JSON.stringify(message.content)}`;
}
