import type { CallScope, CompactionOutcome } from '@x/core';
import { callable } from '@x/core/internal';
import * as z from 'zod/mini';
import { configSchema, type Grouped } from '../config/compaction-config.js';
import type { ResolvedCompactionConfig } from '../config/groups.js';

/** The input of a `beforeCompaction` hook: facts about the compaction that is about to begin. */
export interface BeforeCompaction {
  /** `true` after an overflow, or if a user requested the compaction. */
  readonly forced: boolean;
  /** Tokens of the next request. */
  readonly tokensUsed: number;
  /** Share of the window in use, in percent. */
  readonly contextPercent: number;
  readonly messageCount: number;
  /** Number of newest messages that stay unchanged; `undefined` if `keep.messages` is not set. */
  readonly keepLast: number | undefined;
}

/** The answer of a `beforeCompaction` hook. */
export interface BeforeCompactionAnswer {
  /** `true` to skip this compaction. After an overflow, the provider's error is then thrown. */
  readonly skip?: boolean | undefined;
  /** Further instructions for the summary, such as facts to keep. */
  readonly instructions?: string | undefined;
}

/** The input of an `afterCompaction` hook: the result of a compaction. */
export interface AfterCompaction {
  readonly success: boolean;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  /** UTF-16 units of the summary; 0 if there is none. */
  readonly summaryLength: number;
  readonly outcome: CompactionOutcome;
}

type Awaitable<Value> = Value | Promise<Value>;

type BeforeCompactionHook =
  | ((input: BeforeCompaction, scope: CallScope) => Awaitable<BeforeCompactionAnswer | undefined>)
  | ((input: BeforeCompaction, scope: CallScope) => Awaitable<void>);

/** Keys of the `compaction` capability that files can contain too. */
export const agentShape = {
  /** Writes all messages to the log before a compaction. */
  offloadBeforeCompact: z._default(z.boolean(), true),
  /** Passes the messages that a compaction is about to remove to each capability with `beforeReduction`. */
  flushBeforeCompact: z._default(z.boolean(), true),
  /** Offers the tool `recall`, and adds matching passages to new messages of the user. */
  recall: z._default(z.boolean(), true),
  /** Offers the tool `compact`, with which the model itself requests a compaction. */
  compactTool: z._default(z.boolean(), false),
};

const codeShape = {
  ...agentShape,
  beforeCompaction: z.optional(callable<BeforeCompactionHook>()),
  afterCompaction: z.optional(callable<(result: AfterCompaction, scope: CallScope) => Awaitable<void>>()),
};

/** The configuration of the `compaction` capability: the options of a compactor and those that only an agent has. */
export const capabilityConfigSchema = configSchema(codeShape);

/** Options of `compaction`: those of a compactor and those that only an agent has. */
export type CompactionCapabilityConfig = z.input<typeof capabilityConfigSchema>;

/** Options of `compaction` in groups, without a preset. */
export type CompactionCapabilitySettings = Grouped<typeof codeShape>;

export type ResolvedCapabilityConfig = ResolvedCompactionConfig & z.output<z.ZodMiniObject<typeof codeShape>>;
