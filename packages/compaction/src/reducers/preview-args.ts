import { headOf, type Message, parseWith, type ToolUseBlock } from '@x/core';
import type * as z from 'zod';
import { previewArgsSchema } from '../config/stage-schemas.js';
import { marksOf } from '../conversation/marks.js';
import { startOfLive, startOfWindow } from '../conversation/regions.js';
import { mapStrings } from '../conversation/text.js';
import type { Meter } from '../meter.js';
import { type Reducer, unchanged } from '../reducer.js';
import { alterMessages, ifWorthwhile } from './alter-messages.js';

/** UTF-16 units of a value that stay readable; shorter values stay whole. */
const PREVIEW = 100;

/**
 * Shortens the large arguments of tool calls beyond the newest `protectPercent` of the window: as a stage of a
 * compaction, or after every tool round as soon as it saves enough to be worth a rewrite.
 */
export function previewArgs(options: z.input<typeof previewArgsSchema> = {}): Reducer {
  const { mode, argThreshold, protectPercent } = parseWith(previewArgsSchema, options, 'previewArgs options');

  function previewed(message: Message, meter: Meter) {
    if (marksOf(message).previewed) return undefined;
    let changed = false;
    const content = message.content.map((block) => {
      if (block.type !== 'tool_use' || meter.text(JSON.stringify(block.input) ?? '') <= argThreshold)
        return block;
      const input = shortened(block, meter);
      changed ||= input !== block.input;
      return input === block.input ? block : { ...block, input };
    });
    return changed ? { content, marks: { previewed: true } } : undefined;
  }

  return {
    name: 'preview_args',
    cost: 'free',
    isDueEarly: () => mode === 'iteration',
    async reduce(view, budget, context) {
      if (mode === 'off') return unchanged(view, 'switched off');
      const protectedTokens = Math.floor(budget.contextWindow * protectPercent);
      const window = { keepMessages: 0, keepTokens: protectedTokens };
      const { meter } = context;
      const end = Math.min(startOfWindow(view.messages, window, meter), startOfLive(view.messages));
      const alteration = alterMessages(view.messages, 'previewed', context, (message, index) =>
        index < end ? previewed(message, meter) : undefined,
      );
      return ifWorthwhile(view, budget, alteration);
    },
  };
}

function shortened(call: ToolUseBlock, meter: Meter) {
  return mapStrings(call.input, (text) => {
    if (text.length <= PREVIEW) return text;
    const stub = `[shortened, was ~${Math.round(meter.text(text))} tokens] ${headOf(text, PREVIEW)}`;
    return stub.length < text.length ? stub : text;
  });
}
