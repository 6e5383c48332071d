import type { SessionStore } from '@x/core';
import * as z from 'zod';
import { MemoryConsolidator } from '../consolidate/consolidator.js';
import { clockSchema, workspaceSchema } from '../flush/flush-config.js';
import { MemoryFlushManager } from '../flush/flush-manager.js';

const SIX_HOURS_MS = 21_600_000;
const HALF_AN_HOUR_MS = 1_800_000;

/** An index that can be looked after, as a `MemoryIndex` can. */
export interface MaintainedIndex {
  maintain(workspace: z.output<typeof workspaceSchema>, prefixes: readonly string[]): Promise<void>;
}

export const maintenanceShape = {
  /** Milliseconds between two passes. */
  intervalMs: z.int().min(1_000).default(SIX_HOURS_MS),
  /** Milliseconds between two consolidations of one scope that are asked for besides. */
  consolidationGapMs: z.int().min(0).default(HALF_AN_HOUR_MS),
  /** Days after which a daily note is moved to `memory/archive/`; 0: never. */
  archiveAfterDays: z.number().min(0).default(90),
  /** Days after which the log of a session in which nothing was said is deleted; 0: never. */
  pruneSessionsAfterDays: z.number().min(0).default(180),
};

export const maintenanceSchema = z.strictObject({
  workspace: workspaceSchema,
  consolidator: z.custom<MemoryConsolidator>(
    (value) => value instanceof MemoryConsolidator,
    'must be a MemoryConsolidator',
  ),
  /**
   * Flushes sessions whose process died before it could. Default: one with the consolidator's workspace and model; `null`:
   * none, and logs are pruned by their age alone.
   */
  flusher: z
    .custom<MemoryFlushManager>(
      (value) => value instanceof MemoryFlushManager,
      'must be a MemoryFlushManager',
    )
    .nullable()
    .optional(),
  index: z
    .custom<MaintainedIndex>(
      (value) => typeof value === 'object' && value !== null && 'maintain' in value,
      'must be an index',
    )
    .optional(),
  /** Where a lease sees to it that one replica at a time works; without, or without leases, the workspace's lock does. */
  store: z
    .custom<SessionStore>(
      (value) => typeof value === 'object' && value !== null && 'load' in value,
      'must be a store',
    )
    .optional(),
  ...maintenanceShape,
  /** Told what comes of the passes that the timer starts. */
  onReport: z.custom<(report: MaintenanceReport) => void>((value) => typeof value === 'function').optional(),
  clock: clockSchema,
});

/** Options of a `MemoryMaintenanceScheduler`. */
export type MemoryMaintenanceOptions = z.input<typeof maintenanceSchema>;
export type MaintenanceSettings = z.output<typeof maintenanceSchema>;

/** What a pass did. */
export interface MaintenanceReport {
  /** `busy`: another process is at it. `not_due`: it was done less than `intervalMs` ago. */
  readonly status: 'done' | 'busy' | 'not_due';
  /** Places in the workspace that were looked after. */
  readonly scopes: number;
  /** Sessions that were flushed, notes that were archived, scopes whose notes were merged, session logs that were deleted. */
  readonly flushed: number;
  readonly archived: number;
  readonly consolidated: number;
  readonly pruned: number;
  /** What could not be done, in words; everything else was. */
  readonly failures: readonly string[];
}
