import type {
  AgentComposition,
  AgentEvent,
  Capability,
  Model,
  SessionKey,
  SessionStore,
  TokenCounter,
  Tool,
  Workspace,
} from '@x/core';
import { ISOLATIONS, PROCESS_TTL_MS } from '@x/core/internal';
import * as z from 'zod';
import type { WarningLimit } from '../lib/warning-limit.js';
import type { ModelFallback } from '../loop/model-fallback.js';
import type { StoreLimit } from './bounded-store.js';
import { limitsSchema, type ParsedLimits } from './limits.js';

/** The plain settings of an agent; the builder validates them. */
export const settingsSchema = z.strictObject({
  name: z.string().min(1).default('agent'),
  systemPrompt: z.string().default(''),
  /** Reasoning steps that one call may take. */
  maxIterations: z.int().min(1).default(50),
  /**
   * Who shares files: the sessions of a `user` (default; calls without a user work at the root of the workspace), one `session`,
   * all of an `agent` in a tenant, or all (`shared`). Logs and memory belong to each user in any case.
   */
  isolation: z.enum(ISOLATIONS).default('user'),
  /**
   * When the session is stored: before and after tools that change something (`effect`), after every step too (`step`), or only at
   * the end (`call`).
   */
  checkpoint: z.enum(['effect', 'step', 'call']).default('effect'),
  /** If another writer has stored the session: the call fails, or the turns of both are kept. */
  onConflict: z.enum(['fail', 'merge']).default('fail'),
  /** If another call of the session runs: wait for its turn, or fail. */
  turns: z.enum(['queue', 'reject']).default('queue'),
  /** Milliseconds of silence after which other processes consider this one dead and take over its turns. */
  processTtlMs: z.int().min(1).default(PROCESS_TTL_MS),
  /** Calls that run at a time, including those that wait for a model or a tool; 0 for no limit. Others wait in line. */
  maxRunningCalls: z.int().min(0).default(500),
  /** Calls that wait in line. Beyond that, calls fail with `overloaded`. */
  maxWaitingCalls: z.int().min(0).default(1_000),
  /** Calls of one user that run at a time; 0 for no limit. */
  perUser: z.int().min(0).default(100),
  /** Further attempts for a model call that failed temporarily. */
  maxRetries: z.int().min(0).default(3),
  /** Milliseconds before the first further attempt; doubles each time. */
  retryDelayMs: z.int().min(0).default(500),
  /** Milliseconds that each wait may take. */
  limits: limitsSchema.prefault({}),
  /** Milliseconds after which a pending approval counts as denied; 0 for never. */
  approvalTimeoutMs: z.int().min(0).default(0),
  /** Calls of read-only tools, or of tools with `parallel`, that run side by side. */
  maxParallelTools: z.int().min(1).default(8),
  /** How often a call continues an answer that was cut off at the limit of output tokens. */
  continueTruncated: z.int().min(0).default(0),
  maxOutputTokens: z.int().min(1).optional(),
  temperature: z.number().min(0).optional(),
});

/** The plain settings of an agent, as they are given. */
export type AgentSettings = z.input<typeof settingsSchema>;
export type ParsedSettings = z.output<typeof settingsSchema>;

/** Makes each key optional, and takes its default away: what is left out stays as it is elsewhere. */
function withoutDefaults(shape: Readonly<Record<string, z.ZodType>>): Record<string, z.ZodType> {
  const bare = (schema: z.ZodType) =>
    schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
      ? (schema.unwrap() as z.ZodType)
      : schema;
  return Object.fromEntries(Object.entries(shape).map(([key, schema]) => [key, bare(schema).optional()]));
}

/** Of the agent alone: a subagent works in the files, and in the place, of the call that it works for. */
const { shape: ownShape } = settingsSchema.omit({
  name: true,
  systemPrompt: true,
  isolation: true,
  maxRunningCalls: true,
  maxWaitingCalls: true,
  perUser: true,
});

type OwnSettings = Pick<AgentSettings, keyof typeof ownShape>;

/** The settings that an agent and each of its subagents may have their own of. */
export const ownSettingsSchema = z.strictObject({
  ...withoutDefaults(ownShape),
  limits: z.strictObject(withoutDefaults(limitsSchema.shape)).optional(),
}) as unknown as z.ZodType<OwnSettings, OwnSettings> & {
  readonly shape: Readonly<Record<string, z.ZodType>>;
};

/** Everything an agent is made of. */
export interface AgentParts {
  readonly settings: ParsedSettings;
  readonly model: Model;
  /** The models that take over when it fails for good. */
  readonly fallback: ModelFallback;
  readonly tools: readonly Tool[];
  /** Returns whether it has a tool that a capability brings later. */
  readonly keeps: (tool: string) => boolean;
  readonly capabilities: readonly Capability[];
  readonly workspace: Workspace;
  readonly storage: Workspace;
  readonly session: SessionStore;
  /** The same store, bounded by the limit of a turn. */
  readonly sessionWithin: (limit: StoreLimit) => SessionStore;
  readonly counter: TokenCounter;
  readonly listeners: readonly ((event: AgentEvent) => void)[];
  /** Bounds the warnings that listeners hear. */
  readonly warnings: WarningLimit;
}

/** The agent as its capabilities see it at installation. */
export type ComposedAgent = AgentComposition & {
  readonly limits: ParsedLimits;
  /** The models that take over when its model fails for good. */
  readonly fallback?: ModelFallback | undefined;
};

/** The session in whose files a call works: that of the agent for which a subagent works. A key of the runtime context. */
export class FilesOwner {
  readonly key: SessionKey;

  constructor(key: SessionKey) {
    this.key = key;
  }
}

export function composedOf({ settings: { name, isolation, limits }, ...parts }: AgentParts): ComposedAgent {
  const { model, fallback, tools, capabilities, workspace, storage, session } = parts;
  return { name, isolation, limits, model, fallback, tools, capabilities, workspace, storage, session };
}
