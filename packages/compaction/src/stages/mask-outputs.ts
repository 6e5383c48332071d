import {
  type ContentBlock,
  type Message,
  type ToolUseBlock,
  textOf,
  toolResultsOf,
  toolUsesOf,
} from '@x/core';
import { parseWith } from '@x/core/internal';
import * as z from 'zod/mini';
import { countSchema, namesSchema } from '../config/values.js';
import { markedText, marksOf, stringsIn } from '../conversation/marks.js';
import { startOfLive } from '../conversation/regions.js';
import { endOf, matchesTool } from '../conversation/tool-calls.js';
import { evictedPath } from '../eviction/evict-text.js';
import { type Stage, unchanged } from '../stage.js';
import { alterMessages } from './alter-messages.js';
import { observationStub, placesIn } from './stubs.js';

/** Default number of newest outputs that stay whole. */
const KEPT = 5;

const optionsSchema = z.strictObject({
  /** Number of newest outputs that stay whole. Default 5, unless `keepRecentMessages` is set. */
  keepRecentToolOutputs: z.optional(countSchema),
  format: z._default(z.enum(['one_line', 'head_tail']), 'one_line'),
  /** Tools whose outputs stay whole; a name may end in `*`. */
  excludeTools: z._default(namesSchema, []),
  /** The number of newest messages whose outputs also stay whole. */
  keepRecentMessages: z.optional(countSchema),
  /** Skips masking if only the number of messages is over the limit, because masking cannot lower it. */
  onlyForTokens: z._default(z.boolean(), false),
});

/**
 * Replaces tool outputs older than the newest `keepRecentToolOutputs` (5) with a stub. Keeps ids and the number of messages.
 * Never masks outputs that the model has not answered yet. A stub is never longer than the output that it replaces.
 *
 * @example
 * ```ts
 * createCompactor({ contextWindow: 200_000, stages: [maskOutputs({ keepRecentToolOutputs: 8 }), 'drop_oldest'] });
 * ```
 */
export function maskOutputs(options: z.input<typeof optionsSchema> = {}): Stage {
  const settings = parseWith(optionsSchema, options, 'maskOutputs options');

  return {
    name: 'mask_outputs',
    cost: 'free',
    async reduce(...given) {
      const [{ messages, tokens }, budget, context] = given;
      if (settings.onlyForTokens && !budget.forced && tokens <= budget.enoughTokens) {
        return unchanged(given[0], 'the tokens fit, and masking leaves the number of messages as it is');
      }
      const maskable = findMaskable(messages, settings);
      const calls = new Map<string, ToolUseBlock>();
      const destructive = new Set(
        context.tools?.flatMap(({ name, annotations }) => (annotations?.destructive ? [name] : [])),
      );
      const placeOf = placesIn(messages, context);
      return alterMessages(given, 'masked', (message) => {
        for (const call of toolUsesOf(message)) calls.set(call.id, call);
        if (!message.content.some((block) => maskable.has(block))) return undefined;
        const ids = [...stringsIn(marksOf(message).masked)];
        const content = message.content.map((block) => {
          if (block.type !== 'tool_result' || !maskable.has(block)) return block;
          const evictedTo = evictedPath(block);
          const text = observationStub(block, settings.format, {
            call: calls.get(block.toolUseId),
            where: evictedTo ? `read_file ${evictedTo}` : placeOf(message),
            onceOnly: destructive.has(block.toolName),
          });
          const hasFile = block.output.some(({ type }) => type === 'file');
          if (!hasFile && text.length >= textOf(block.output).length) return block;
          ids.push(block.toolUseId);
          return { ...block, output: [markedText(text, {}, endOf(block))] };
        });
        return { content, marks: { masked: ids } };
      });
    },
  };
}

function findMaskable(
  messages: readonly Message[],
  { keepRecentMessages, keepRecentToolOutputs, excludeTools }: z.output<typeof optionsSchema>,
): ReadonlySet<ContentBlock> {
  const found = new Set<ContentBlock>();
  const end = Math.min(startOfLive(messages), messages.length - (keepRecentMessages ?? 0));
  const outputs = keepRecentToolOutputs ?? (keepRecentMessages === undefined ? KEPT : 0);
  let kept = 0;
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index] as Message;
    const done = new Set(stringsIn(marksOf(message).masked));
    for (const block of toolResultsOf(message).toReversed()) {
      if (kept++ < outputs) continue;
      const stays = done.has(block.toolUseId) || matchesTool(excludeTools, block.toolName);
      if (index < end && !stays) found.add(block);
    }
  }
  return found;
}
