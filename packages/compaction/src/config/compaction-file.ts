import { fileJsonSchema, InvalidInputError, type JsonObject, parseFileConfig } from '@x/core';
import { z } from 'zod';
import { evictionConfigSchema } from '../eviction/eviction-config.js';
import { compactionShape, refuseContradictions, resolveDefaults } from './compaction-config.js';
import { shareSchema } from './stage-schemas.js';

const { model: _model, counter: _counter, strategy: _strategy, ...dataShape } = compactionShape;
const DEFAULT_BUDGET = compactionShape.budgetPercent.parse(undefined);

const name = z.string().min(1);

const base = z.strictObject({
  ...dataShape,
  strategy: z.enum(['auto', 'native', 'observation_masking', 'summarization']).default('auto'),
  budgetPercent: shareSchema.optional().meta({ default: DEFAULT_BUDGET }),
  /** `budgetPercent`, in percent: 80 is 0.8. */
  threshold: z
    .number()
    .min(0)
    .max(100)
    .refine((value) => value === 0 || value >= 1, 'is in percent: write 80 for 80 %')
    .optional(),
  /** A named prompt, with which the agent's own model summarizes. */
  prompt: name.optional(),
  /** A dedicated summarizer, by name; `prompt` goes before it. */
  agent: name.optional(),
  offloadBeforeCompact: z.boolean().default(true),
  flushBeforeCompact: z.boolean().default(true),
});

/** The configuration as data alone: what a file can hold, in camelCase. */
const compactionFileSchema = base
  .superRefine((config, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (config.threshold !== undefined && config.budgetPercent !== undefined) {
      refuse('threshold', 'and budgetPercent say the same; leave one of them out');
    }
    if (config.prompt !== undefined && config.summaryPrompt !== undefined) {
      refuse('prompt', 'and summaryPrompt both say how to summarize; leave one of them out');
    }
    if (config.summarizer !== 'none') return;
    for (const key of ['prompt', 'agent'] as const) {
      if (config[key] !== undefined) refuse(key, 'names a summarizer although summarizer is "none"');
    }
  })
  .transform(({ threshold, ...config }) =>
    resolveDefaults({
      ...config,
      budgetPercent: threshold === undefined ? (config.budgetPercent ?? DEFAULT_BUDGET) : threshold / 100,
    }),
  )
  .superRefine(refuseContradictions);

type FileOutput = z.output<typeof compactionFileSchema>;

/** What a configuration file said. */
export interface ParsedCompactionConfig {
  /** For {@link compaction}, or, without the two keys for the log and the flush, for a compactor. */
  readonly options: Omit<FileOutput, 'prompt' | 'agent'>;
  /** Names to be resolved with {@link resolveSummarizer}. */
  readonly prompt?: string | undefined;
  readonly agent?: string | undefined;
}

/**
 * Reads the configuration of compaction as JSON or YAML files hold it, once they are parsed: keys in snake_case, either
 * alone or as `{ ref: 'compaction', config }`. Every default is filled in; 0 means 0.
 *
 * @throws {InvalidInputError} naming every unknown key and every combination that cannot work, in snake_case.
 */
export function parseCompactionConfig(value: unknown): ParsedCompactionConfig {
  const subject = 'compaction configuration';
  const data = configOf(value);
  const { prompt, agent, ...options } = parseFileConfig(compactionFileSchema, data ?? {}, subject);
  return { options, prompt, agent };
}

/**
 * What stands under `config` in the form that names the capability; any other value as it is.
 *
 * @throws {InvalidInputError} when something else stands beside `config`.
 */
export function configOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('ref' in value) || value.ref !== 'compaction')
    return value;
  const { ref: _, config, ...rest } = value as { ref: string; config?: unknown };
  const issues = Object.keys(rest).map((path) => ({
    path,
    message: 'unknown key; options stand under config',
  }));
  if (issues.length > 0) throw new InvalidInputError('compaction configuration', issues);
  return config;
}

/** JSON Schema of the `compaction` configuration in a file, for editors and for validation elsewhere. */
export const compactionJsonSchema: JsonObject = fileJsonSchema(compactionFileSchema);

/** JSON Schema of the `tool_result_eviction` configuration in a file. */
export const evictionJsonSchema: JsonObject = fileJsonSchema(evictionConfigSchema);
