import { type Message, parseWith } from '@x/core';
import type * as z from 'zod';
import { trimSyntheticSchema } from '../config/stage-schemas.js';
import { type Fate, type Reducer, unchanged } from '../reducer.js';

/** Keeps only the last of identical injected messages. Nothing else is touched. */
export function trimSynthetic(options: z.input<typeof trimSyntheticSchema> = {}): Reducer {
  const { trimThreshold, trimMaxTokens } = parseWith(trimSyntheticSchema, options, 'trimSynthetic options');
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
