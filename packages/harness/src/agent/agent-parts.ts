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
import type { ModelFallback } from '../loop/model-fallback.js';
import type { StoreLimit } from './bounded-store.js';
import { limitsSchema, type ParsedLimits } from './limits.js';

/** The plain settings of an agent; the builder validates them. */
export const settingsSchema = z.strictObject({
  /** Name of the agent. It is a part of the key of each of its sessions. */
  name: z.string().min(1).default('agent'),
  /** The instructions at the beginning of every request to the model. */
  systemPrompt: z.string().default(''),
  /** Maximum number of reasoning steps of one call. */
  maxIterations: z.int().min(1).default(50),
  /**
   * Which sessions share files. `user`: all sessions of a user; sessions without a user share the root of the workspace. `session`: none.
   * `agent`: all sessions of an agent in a tenant. `shared`: all. Logs and memory always belong to one user.
   */
  isolation: z.enum(ISOLATIONS).default('user'),
  /**
   * When the session is stored. `effect`: before and after tools that change something. `step`: also after every step. `call`: only at the
   * end of the call.
   */
  checkpoint: z.enum(['effect', 'step', 'call']).default('effect'),
  /** If another writer has stored the session during the call: `fail` the call, or keep the messages of both (`merge`). */
  onConflict: z.enum(['fail', 'merge']).default('fail'),
  /** If another call of the session runs: wait for its end (`queue`), or fail (`reject`). */
  turns: z.enum(['queue', 'reject']).default('queue'),
  /** Milliseconds without a heartbeat after which other processes consider this one dead and take over its sessions. */
  processTtlMs: z.int().min(1).default(PROCESS_TTL_MS),
  /** Maximum number of running calls, including those that wait for a model or a tool; 0 for no limit. Other calls wait in a queue. */
  maxRunningCalls: z.int().min(0).default(500),
  /** Maximum number of calls in the queue. Beyond it, calls fail with `overloaded`. */
  maxWaitingCalls: z.int().min(0).default(1_000),
  /** Maximum number of running calls of one user; 0 for no limit. */
  perUser: z.int().min(0).default(100),
  /** Maximum number of retries of a model call that failed temporarily. */
  maxRetries: z.int().min(0).default(3),
  /** Milliseconds before the first retry; doubles with each retry. */
  retryDelayMs: z.int().min(0).default(500),
  /** Limits of waits, in milliseconds, and of the size of an answer; 0 for no limit. */
  limits: limitsSchema.prefault({}),
  /** Milliseconds after which a pending approval is denied; 0 for never. */
  approvalTimeoutMs: z.int().min(0).default(0),
  /** Maximum number of read-only tools, or of tools with `parallel`, that run concurrently. */
  maxParallelTools: z.int().min(1).default(8),
  /** How often a call continues an answer that was cut off at the output token limit. */
  continueTruncated: z.int().min(0).default(0),
  /** Maximum tokens of one answer of the model. Default: the model's own. */
  maxOutputTokens: z.int().min(1).optional(),
  /** The sampling temperature. Default: the model's own. */
  temperature: z.number().min(0).optional(),
});

/** The plain settings of an agent, before validation. */
export type AgentSettings = z.input<typeof settingsSchema>;
export type ParsedSettings = z.output<typeof settingsSchema>;

/** Makes each key optional and removes its default, so that an omitted key inherits the agent's setting. */
function withoutDefaults(shape: Readonly<Record<string, z.ZodType>>): Record<string, z.ZodType> {
  const bare = (schema: z.ZodType) =>
    schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault
      ? (schema.unwrap() as z.ZodType)
      : schema;
  return Object.fromEntries(Object.entries(shape).map(([key, schema]) => [key, bare(schema).optional()]));
}

/** Settings that a subagent cannot override, because it uses the files and the slot of its parent's call. */
const { shape: ownShape } = settingsSchema.omit({
  name: true,
  systemPrompt: true,
  isolation: true,
  maxRunningCalls: true,
  maxWaitingCalls: true,
  perUser: true,
});

type OwnSettings = Pick<AgentSettings, keyof typeof ownShape>;

/** The settings that a subagent can override. */
export const ownSettingsSchema = z.strictObject({
  ...withoutDefaults(ownShape),
  limits: z.strictObject(withoutDefaults(limitsSchema.shape)).optional(),
}) as unknown as z.ZodType<OwnSettings, OwnSettings>;

/** Everything an agent is made of. */
export interface AgentParts {
  readonly settings: ParsedSettings;
  readonly model: Model;
  /** The models that take over if `model` fails permanently. */
  readonly fallback: ModelFallback;
  readonly tools: readonly Tool[];
  /** Returns whether the agent keeps a tool that a capability adds later. */
  readonly keeps: (tool: string) => boolean;
  readonly capabilities: readonly Capability[];
  readonly workspace: Workspace;
  readonly storage: Workspace;
  readonly session: SessionStore;
  /** Returns `session`, with the time limit of one call. */
  readonly sessionWithin: (limit: StoreLimit) => SessionStore;
  readonly counter: TokenCounter;
  readonly listeners: readonly ((event: AgentEvent) => void)[];
}

/** The agent as its capabilities see it at installation. */
export type ComposedAgent = AgentComposition & {
  readonly limits: ParsedLimits;
  /** The models that take over if the agent's model fails permanently. */
  readonly fallback?: ModelFallback | undefined;
};

/**
 * The session whose files a call uses. For a subagent, this is the session of its parent. The runtime context stores the value under this
 * class.
 */
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
