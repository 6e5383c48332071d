import type { Model, TokenCounter } from '@x/core';
import * as z from 'zod/mini';
import { redactSchema } from '../conversation/redaction.js';
import { targetSchema, triggerSchema } from '../run/budget.js';
import { stageNames } from '../run/ladder.js';
import type { Stage } from '../stage.js';
import { savingSchema } from '../stages/alter-messages.js';
import { keepSchema, summarizeOptionsSchema, summaryShape } from '../summary/options.js';

/** Keys of every configuration, with a preset or without. */
export const sharedShape = {
  /** The window of the model that reads the conversation, in tokens. */
  contextWindow: z.optional(z.int().check(z.minimum(1))),
  /** Replace secrets in summaries by `[redacted:kind]`: common ones (`true`), your own as well (`patterns`), or none (`false`). */
  redact: z._default(redactSchema, true),
};

/** The groups of settings. */
export const groupedShape = {
  ...sharedShape,
  /**
   * When a reduction is due. Setting a trigger turns off the default one. If you set several, the first one reached fires; 0
   * turns one off.
   */
  trigger: z.prefault(triggerSchema, {}),
  /**
   * What a reduction aims for: the share of the trigger point that it leaves, or tokens. Default 0.5, more where what is
   * kept and the record have more.
   */
  target: z.optional(targetSchema),
  /** What stays verbatim. */
  keep: z.prefault(keepSchema, {}),
  /** How summaries are written. */
  summary: z.prefault(z.strictObject(summaryShape), {}),
  /** How much a reduction must save to count; `false`: fewer messages are enough, also where a summary of them is longer. */
  saving: z.prefault(savingSchema, {}),
};

const stageSchema = z.enum(stageNames);

const stagesOf = <Stage extends z.ZodMiniType>(schema: Stage) =>
  z.optional(z.array(schema).check(z.minLength(1)));

/** Keys that only a file has beside the groups: stages by name, the summarizer by name. */
export const dataShape = {
  grouped: { stages: stagesOf(stageSchema) },
  common: {
    /**
     * The name of a dedicated summarizer, or names of which each takes over from the one before; `null`: no model summarizes. Left
     * out: the agent's own model.
     */
    model: z.nullish(
      z.union([
        z.string().check(z.minLength(1)),
        z.array(z.string().check(z.minLength(1))).check(z.minLength(1)),
      ]),
    ),
  },
};

/** Keys that only code has beside the groups. */
export const codeShape = {
  grouped: {
    /** The stages in their order, by name or as stages of your own, instead of the default ones. */
    stages: stagesOf(
      z.union([
        stageSchema,
        z.custom<Stage>((value) => typeof (value as Stage | null)?.reduce === 'function', 'must be a Stage'),
      ]),
    ),
  },
  common: {
    /** Writes the summaries; `null`: none does. Left out: see where the configuration is used. */
    model: z.nullish(
      z.custom<Model>(
        (value) => typeof (value as Model | null)?.generate === 'function',
        'must be a Model: an object with id and generate(request)',
      ),
    ),
    counter: z.optional(
      z.custom<TokenCounter>(
        (value) => typeof (value as TokenCounter | null)?.count === 'function',
        'must be a TokenCounter',
      ),
    ),
  },
};

/** The schema of a configuration in which presets are mapped onto groups. */
export const completeSchema = z.strictObject({
  ...groupedShape,
  ...codeShape.grouped,
  ...codeShape.common,
  summary: z.prefault(z.omit(summarizeOptionsSchema, { keep: true, saving: true, redact: true }), {}),
  preset: z.optional(z.enum(['agentscope', 'everruns', 'aura'])),
});

/** The configuration with every default filled in and every preset mapped onto groups and stages. */
export type ResolvedCompactionConfig = z.output<typeof completeSchema>;

/** What a preset says in groups; what it leaves out has the default. */
export type PresetSettings = Pick<
  z.input<typeof completeSchema>,
  'model' | 'trigger' | 'keep' | 'summary' | 'stages'
>;
