import {
  type Clock,
  type Model,
  type Redact,
  type SecretPattern,
  secretRedactor,
  systemClock,
  type Workspace,
} from '@x/core';
import * as z from 'zod';

const FIVE_MINUTES_MS = 300_000;

const model = z.custom<Model>(
  (value) => typeof value === 'object' && value !== null && 'generate' in value,
  'must be a model',
);
export const workspaceSchema = z.custom<Workspace>(
  (value) => typeof value === 'object' && value !== null && 'append' in value,
  'must be a workspace',
);
export const clockSchema = z
  .custom<Clock>((value) => typeof value === 'object' && value !== null && 'now' in value, 'must be a clock')
  .default(systemClock);
/** `null`: no model is called, statements are found by pattern. */
export const modelSchema = model.nullable().default(null);

const pattern = z.custom<SecretPattern>(
  (value) =>
    typeof value === 'object' && value !== null && 'pattern' in value && value.pattern instanceof RegExp,
  'must be { kind, pattern }',
);
/** Secrets to keep out: common ones (`true`), more by `patterns`, or none (`false`). */
export const redactSchema = z
  .union([z.boolean(), z.strictObject({ patterns: z.array(pattern) })])
  .default(true);

/** An IANA time zone. */
export const timeZoneSchema = z
  .string()
  .refine((zone) => {
    try {
      return new Intl.DateTimeFormat('en-US', { timeZone: zone }) !== undefined;
    } catch {
      return false;
    }
  }, 'must be a time zone, as Asia/Tokyo')
  .default('UTC');

/** The function that a setting asks for. */
export function redactorFor(setting: z.output<typeof redactSchema>): Redact {
  if (setting === false) return (text) => text;
  return secretRedactor(setting === true ? [] : setting.patterns);
}

/** When and how conversations are flushed. */
export const flushShape = {
  /**
   * After every call, never, or at most once in `flushGapMs` per session. A flush before a compaction is never throttled
   * and never left out.
   */
  flush: z.enum(['always', 'never', 'throttled']).default('always'),
  flushGapMs: z.int().min(0).default(FIVE_MINUTES_MS),
  /** Estimated tokens of messages that are read at once; more are read in several batches. A third of the model's window at most. */
  maxBatchTokens: z.int().min(1).default(12_000),
  /** The IANA time zone whose days the notes are named after, as `Asia/Tokyo`. */
  timeZone: timeZoneSchema,
  redact: redactSchema,
};

export const flushManagerSchema = z.strictObject({
  workspace: workspaceSchema,
  /** Or a function that gives it when it is needed. */
  model: z.union([
    modelSchema,
    z.custom<() => Model | null>((value) => typeof value === 'function', 'must be a model'),
  ]),
  ...flushShape,
  clock: clockSchema,
});

/** Options of a `MemoryFlushManager`. */
export type MemoryFlushManagerOptions = z.input<typeof flushManagerSchema>;
export type FlushSettings = z.output<typeof flushManagerSchema>;
