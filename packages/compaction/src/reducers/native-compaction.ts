import { parseWith } from '@x/core';
import * as z from 'zod';
import { keepSchema, savingSchema } from '../config/stage-schemas.js';
import { isUserRequest, latestUserRequest } from '../conversation/regions.js';
import { type Fate, type Reducer, unchanged } from '../reducer.js';
import { candidateCuts } from '../summary/cut.js';
import { partitionAt } from '../summary/partition.js';
import { savesEnough } from './alter-messages.js';

const optionsSchema = z.strictObject({
  keep: keepSchema.prefault({}),
  saving: savingSchema.prefault({}),
});

/**
 * Has the provider condense the older part with its own endpoint, where the model offers `compact`. Its answer is kept
 * byte for byte, and the newest messages stay as they are. Used only when it saves enough.
 */
export function nativeCompaction(options: z.input<typeof optionsSchema> = {}): Reducer {
  const settings = parseWith(optionsSchema, options, 'nativeCompaction options');
  return {
    name: 'native',
    cost: 'llm',
    async reduce(view, budget, { model, meter, system, tools = [], signal }) {
      if (!model?.compact) return unchanged(view, 'the model offers no compaction of its own');
      const pinned = new Set(
        view.messages.filter((message) => message.role === 'system' || isUserRequest(message)),
      );
      const [cut = 0] = candidateCuts(view, budget, settings.keep, pinned, 0, meter);
      const part = partitionAt(view.messages, cut, Number.POSITIVE_INFINITY, meter);
      const older = [...part.previous, ...part.covered];
      // The provider keeps what users said; the latest request stays where it can be seen.
      const latest = view.messages[latestUserRequest(view.messages)];
      const request = part.covered.filter((message) => message === latest);
      if (part.covered.length === 0) return unchanged(view, 'there is nothing older than what is kept');
      const { messages: condensed, usage } = await model.compact({
        ...(system === undefined ? {} : { system }),
        messages: older,
        tools,
        ...(signal ? { signal } : {}),
      });
      const spent = usage ? { usage } : {};
      if (condensed.length === 0) {
        return { ...unchanged(view, ''), failure: 'the provider returned nothing', ...spent };
      }
      const prompts = part.front.filter((message) => message.role === 'system');
      const messages = [...prompts, ...condensed, ...request, ...part.tail];
      const before = view.tokens - view.fixedTokens;
      if (!savesEnough(before, meter.messages(messages), settings.saving)) {
        return { ...unchanged(view, 'the provider’s compaction saves too little'), ...spent };
      }
      const staying = new Set(condensed);
      const fates = older
        .filter((message) => !staying.has(message) && message !== latest)
        .map(({ id }): Fate => ({ messageId: id, fate: 'replaced' }));
      return { messages, fates, condensed: true, ...spent };
    },
  };
}
