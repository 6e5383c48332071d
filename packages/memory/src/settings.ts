import type { Model, Workspace } from '@x/core';
import { type Clock, having, type Redact, secretRedactor, systemClock } from '@x/core/internal';
import * as z from 'zod';
import { dayIn } from './index/dates.js';
import type { MemoryIndex } from './memory-index.js';

const MINUTE_MS = 60_000;

/** Days, milliseconds and tokens: a whole number from `least` on. */
const whole = (least: number, fallback: number) => z.int().min(least).default(fallback);

const id = z.string().min(1).optional();
export const memoryScopeSchema = z.strictObject({ tenantId: id, userId: id, agentId: id });
export const workspaceSchema = having<Workspace>('append', 'a workspace');
const modelSchema = having<Model>('generate', 'a model');
/** The path of an index's file, or an index that is open already and stays the caller's. */
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

/** Settings of every memory. */
const memoryShape = {
  /**
   * `private`: sessions without a user have no memory, only their logs. `shared`: all sessions of an agent without a user have
   * one memory, for a program of one person.
   */
  withoutUser,
  /**
   * Where the index lives: the path of its file, or an index that is open already and stays the caller's. Default
   * `:memory:`, an index that ends with the process and is built from the files when it is first used.
   */
  index: indexSchema.default(':memory:'),
  /**
   * After every call, never, or at most once in `flushGapMs` per session. Before a compaction the session is always flushed.
   */
  flush: z.enum(['always', 'never', 'throttled']).default('always'),
  /** Milliseconds between two throttled flushes of a session. */
  flushGapMs: whole(0, 5 * MINUTE_MS),
  /** The IANA time zone whose days the notes are named after. */
  timeZone: z.string().refine(isTimeZone, 'must be a time zone, as Asia/Tokyo').default('UTC'),
  /** Secrets to keep out: common ones (`true`), more by `patterns`, or none (`false`). */
  redact,
  /** Merge notes into MEMORY.md after a flush, at most once in `consolidationGapMs` for each user and agent. */
  consolidate: z.boolean().default(true),
  /** Milliseconds between two consolidations of one user and agent, except those of the passes. */
  consolidationGapMs: whole(0, 30 * MINUTE_MS),
  /** Estimated tokens of MEMORY.md, 4 000 being about 16 000 characters. Facts are not added beyond it. */
  maxMemoryTokens: whole(100, 4_000),
  /** Maintain the memory of a user and agent after a call, at most every six hours. `false` if your job scheduler does it. */
  maintenance: z.boolean().default(true),
  /** Days after which maintenance deletes the log of a session in which nothing was said; 0: never. */
  pruneSessionsAfterDays: z.number().min(0).default(180),
};

/** Settings of a memory without an agent, as a whole or of one of its parts. */
export const memoryServiceSchema = z.strictObject({
  ...memoryShape,
  redact: redact.transform(redactorFor),
  /** Of a `MemoryService` the workspace of an agent; of its parts the tree that holds memory and logs, `storageOf(workspace)`. */
  workspace: workspaceSchema,
  /** Reads conversations and merges notes. `null`: conversations are not read, and notes are copied into MEMORY.md as they are. */
  model: z.nullable(modelSchema).default(null),
  clock: z._default(having<Clock>('now', 'a clock'), systemClock),
});

export const memoryConfigSchema = z.strictObject({
  ...memoryShape,
  /** Default: the agent's own; `null`: none. */
  model: z.nullable(modelSchema).optional(),
  /** Estimated tokens of MEMORY.md in the system prompt. Of a longer file the middle is left out. 0: none of it. */
  maxPromptTokens: whole(0, 4_000),
  /** Bring the tools that search, read and save. `false`: memory is kept and shown, and the model cannot ask for more. */
  tools: z.boolean().default(true),
});

/** Options of a `MemoryService`, and of the parts that work by themselves. */
export type MemoryServiceOptions = z.input<typeof memoryServiceSchema>;
export type MemoryServiceSettings = z.output<typeof memoryServiceSchema>;
/** Options of `memory`. */
export type MemoryConfig = z.input<typeof memoryConfigSchema>;
export type MemorySettings = z.output<typeof memoryConfigSchema>;
