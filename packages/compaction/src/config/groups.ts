import type { Model, TokenCounter } from '@x/core';
import { having } from '@x/core/internal';
import * as z from 'zod/mini';
import { redactSchema } from '../conversation/redaction.js';
import { targetSchema, triggerSchema } from '../run/budget.js';
import { stageNames } from '../run/ladder.js';
import type { Stage } from '../stage.js';
import { savingSchema } from '../stages/alter-messages.js';
import { keepSchema, summarizeOptionsSchema, summaryShape } from '../summary/options.js';

/** Keys of every configuration, with a preset or without. */
export const sharedShape = {
  /** The model's context window in tokens. Default: the window that the model declares, else 128 000 (an agent then emits a warning). */
  contextWindow: z.optional(z.int().check(z.minimum(1))),
  /** Which secrets are replaced by `[redacted:kind]` in summaries: common secrets (`true`), also your own (`patterns`), or none (`false`). */
  redact: z._default(redactSchema, true),
};

/** The groups of settings. */
export const groupedShape = {
  ...sharedShape,
  /**
   * When a compaction is due. Setting a trigger turns off the default trigger. If you set several, the first one reached fires; 0 turns
   * a trigger off.
   */
  trigger: z.prefault(triggerSchema, {}),
  /** The size after a compaction: a share of the trigger point, or tokens. Default 0.5, or more if the record and the kept messages need it. */
  target: z.optional(targetSchema),
  /** What stays word for word. If you set several sizes, the one that keeps most wins. */
  keep: z.prefault(keepSchema, {}),
  /** How summaries are written. */
  summary: z.prefault(z.strictObject(summaryShape), {}),
  /** The minimum that a compaction must save. `false`: a compaction need not save tokens; it is enough that fewer messages remain. */
  saving: z.prefault(savingSchema, {}),
};

const stageSchema = z.enum(stageNames);

const stagesOf = <Stage extends z.ZodMiniType>(schema: Stage) =>
  z.optional(z.array(schema).check(z.minLength(1)));

/** Keys that only a file has in addition to the groups: stages by name, the summarizer by name. */
export const dataShape = {
  grouped: { stages: stagesOf(stageSchema) },
  common: {
    /**
     * The name of the model that writes summaries, or several names: each model is the fallback of the one before. `null`: no model.
     * Default: the agent's own model.
     */
    model: z.nullish(
      z.union([
        z.string().check(z.minLength(1)),
        z.array(z.string().check(z.minLength(1))).check(z.minLength(1)),
      ]),
    ),
  },
};

/** Keys that only code has in addition to the groups. */
export const codeShape = {
  grouped: {
    /**
     * Stages in order, by name or your own, instead of `cut_unseen`, `native`, `summarize`, `drop_oldest`. `native` without `summarize`
     * adds a record that needs no model.
     */
    stages: stagesOf(z.union([stageSchema, having<Stage>('reduce', 'a Stage')])),
  },
  common: {
    /** Writes the summaries; `null`: no model does. The default depends on where the configuration is used. */
    model: z.nullish(having<Model>('generate', 'a Model: an object with id and generate(request)')),
    counter: z.optional(having<TokenCounter>('count', 'a TokenCounter')),
  },
};

/** The schema of a configuration in which presets are mapped onto groups. */
export const completeSchema = z.strictObject({
  ...groupedShape,
  ...codeShape.grouped,
  ...codeShape.common,
  summary: z.prefault(z.omit(summarizeOptionsSchema, { keep: true, saving: true }), {}),
  preset: z.optional(z.enum(['agentscope', 'everruns', 'aura'])),
});

/** The configuration with every default filled in and every preset mapped onto groups and stages. */
export type ResolvedCompactionConfig = z.output<typeof completeSchema>;

/** The settings of a preset, mapped onto groups. Omitted settings have their defaults. */
export type PresetSettings = Pick<
  z.input<typeof completeSchema>,
  'model' | 'trigger' | 'keep' | 'summary' | 'stages'
>;
