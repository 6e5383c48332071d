import type { Model, Workspace } from '@x/core';
import { type Clock, having, type Redact, secretRedactor, systemClock } from '@x/core/internal';
import * as z from 'zod';
import { dayIn } from './index/dates.js';
import type { MemoryIndex } from './memory-index.js';

const MINUTE_MS = 60_000;

/** A whole number of at least `least`. */
const whole = (least: number, fallback: number) => z.int().min(least).default(fallback);

const id = z.string().min(1).optional();
export const memoryScopeSchema = z.strictObject({ tenantId: id, userId: id, agentId: id });
export const workspaceSchema = having<Workspace>('append', 'a workspace');
const modelSchema = having<Model>('generate', 'a model');
/** The path of an index file, or an open index that the caller closes. */
const indexSchema = z.union([z.string().min(1), having<MemoryIndex>('indexFromString', 'a MemoryIndex')]);

const secretPattern = z.strictObject({ kind: z.string(), pattern: z.instanceof(RegExp) });
const redact = z.union([z.boolean(), z.strictObject({ patterns: z.array(secretPattern) })]).default(true);

/** Returns the redaction function for a setting. */
function redactorFor(setting: z.output<typeof redact>): Redact {
  if (setting === false) return (text) => text;
  return secretRedactor(setting === true ? [] : setting.patterns);
}

function isTimeZone(zone: string): boolean {
  try {
    return dayIn(0, zone) !== '';
  } catch {
    return false;
  }
}

export const withoutUser = z.enum(['private', 'shared']).default('private');

/** Settings that `memory` and `MemoryService` share. */
const memoryShape = {
  /**
   * `private` (default): sessions without a user have no memory, only their logs. `shared`: all sessions of an agent that have no user
   * share one memory. Use `shared` if your program has only one user.
   */
  withoutUser,
  /**
   * The path of the index file, or an open index that you close yourself. Each workspace needs its own index. Default `:memory:`: the
   * index is built from the memory files on first use, and ends with the process.
   */
  index: indexSchema.default(':memory:'),
  /**
   * When to write new facts of a session to the notes. `always` (default): after every call. `throttled`: after a call, at most once per
   * `flushGapMs` and session. `never`: not after calls. A compaction always flushes the session first.
   */
  flush: z.enum(['always', 'never', 'throttled']).default('always'),
  /** Minimum milliseconds between two throttled flushes of a session, and after unusable answers of the model. Default 300 000. */
  flushGapMs: whole(0, 5 * MINUTE_MS),
  /** The IANA time zone that determines the days of the notes. Default `UTC`. */
  timeZone: z.string().refine(isTimeZone, 'must be an IANA time zone, for example Asia/Tokyo').default('UTC'),
  /**
   * Removes secrets before text is stored. `true` (default): removes common secrets. `{ patterns }`: also removes matches of your patterns.
   * `false`: removes nothing.
   */
  redact,
  /** Merges notes into MEMORY.md after a flush, at most once per `consolidationGapMs` for each user and agent. Default `true`. */
  consolidate: z.boolean().default(true),
  /** Minimum milliseconds between two consolidations of one user and agent. `maintain()` ignores it. Default 1 800 000. */
  consolidationGapMs: whole(0, 30 * MINUTE_MS),
  /**
   * Maximum size of MEMORY.md in estimated tokens. Default 4 000, which are about 16 000 characters. If the file is larger, its oldest
   * model-written facts are retired.
   */
  maxMemoryTokens: z.int().min(100).max(50_000).default(4_000),
  /**
   * Maintains the memory of a user and agent after a call, at most every six hours. Set `false` if your job scheduler calls `maintain()`.
   * Default `true`.
   */
  maintenance: z.boolean().default(true),
  /** Maintenance deletes session logs that have not changed for this many days. If `flush` is on, it reads them first. 0: never. Default 180. */
  pruneSessionsAfterDays: z.number().min(0).default(180),
};

/** Settings of the capability `memory`. */
export const memoryConfigSchema = z.strictObject({
  ...memoryShape,
  /**
   * The model that reads conversations and merges notes. Default: the agent's model. `null`: conversations are not read, and notes are
   * copied to MEMORY.md unchanged.
   */
  model: z.nullable(modelSchema).optional(),
  /**
   * Maximum size of MEMORY.md in the system prompt, in estimated tokens. Default 4 000, but at most an eighth of the model's context window.
   * The middle of a longer file is omitted. 0: the file is not in the system prompt.
   */
  maxPromptTokens: whole(0, 4_000),
  /** Offers the tools of the memory to the model. `false`: the memory is only maintained and shown in the system prompt. Default `true`. */
  tools: z.boolean().default(true),
});

/** Settings of a memory that is used without an agent. */
export const memoryServiceSchema = z.strictObject({
  ...memoryShape,
  redact: redact.transform(redactorFor),
  /** For `MemoryService`: the workspace of the agent. For its parts: the folder with memory and logs, `storageOf(workspace)`. */
  workspace: workspaceSchema,
  /**
   * The model that reads conversations and merges notes. `null` (default): conversations are not read, and notes are copied to MEMORY.md
   * unchanged.
   */
  model: z.nullable(modelSchema).default(null),
  /** The clock for days and intervals. Default: the system clock. */
  clock: z._default(having<Clock>('now', 'a clock'), systemClock),
});

/** Options of `MemoryService` and of its parts. */
export type MemoryServiceOptions = z.input<typeof memoryServiceSchema>;
export type MemoryServiceSettings = z.output<typeof memoryServiceSchema>;
/** Options of `memory`. */
export type MemoryConfig = z.input<typeof memoryConfigSchema>;
export type MemorySettings = z.output<typeof memoryConfigSchema>;
