import type { JsonValue, Message } from '@x/core';
import { headOf, jsonText, parseWith } from '@x/core/internal';
import * as z from 'zod/mini';
import { countSchema, shareSchema } from '../config/values.js';
import { marksOf } from '../conversation/marks.js';
import { STUB_TEXTS } from '../conversation/stub-texts.js';
import { mapStrings } from '../conversation/text.js';
import type { Meter } from '../meter.js';
import type { Stage } from '../stage.js';
import { alterArguments } from './alter-messages.js';

const optionsSchema = z.strictObject({
  /** After every tool round (`iteration`), or as a stage of a compaction. */
  mode: z._default(z.enum(['iteration', 'compaction']), 'compaction'),
  /** If the arguments of one call have more tokens, they are shortened. */
  argThreshold: z._default(countSchema, 200),
  /** Share of the window: the newest messages up to this size stay unchanged. */
  protectPercent: z._default(shareSchema, 0.3),
});

/** UTF-16 units that a shortened value keeps. Shorter values stay whole. */
const PREVIEW = 100;

/**
 * Shortens the large arguments of tool calls that are older than the newest `protectPercent` of the window. Runs as a stage of a
 * compaction, or after every tool round if that saves enough to be worth a rewrite.
 */
export function previewArgs(options: z.input<typeof optionsSchema> = {}): Stage {
  const { mode, argThreshold, protectPercent } = parseWith(optionsSchema, options, 'previewArgs options');

  return {
    name: 'preview_args',
    cost: 'free',
    isDueEarly: () => mode === 'iteration',
    async reduce(...given) {
      const [, budget, { meter }] = given;
      const window = { keepMessages: 0, keepTokens: Math.floor(budget.contextWindow * protectPercent) };
      const change = ({ input }: { readonly input: JsonValue }, message: Message) =>
        marksOf(message).previewed || meter.text(jsonText(input)) <= argThreshold
          ? input
          : shortened(input, meter);
      return alterArguments(given, window, 'previewed', change, { previewed: true });
    },
  };
}

function shortened(input: JsonValue, meter: Meter): JsonValue {
  return mapStrings(input, (text) => {
    if (text.length <= PREVIEW) return text;
    const stub = STUB_TEXTS.previewed.write(Math.round(meter.text(text)), headOf(text, PREVIEW));
    return stub.length < text.length ? stub : text;
  });
}
