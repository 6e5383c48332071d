import type {
  CompactionReason,
  CompactionStatus,
  CompactionStep,
  ContextUsage,
  ManifestEntry,
  Message,
  PendingCall,
  Todo,
  Usage,
} from '@x/core';

/** Everything that the page shows of one session. It is a fold over the session's events: see `fold-event.ts`. */
export interface Transcript {
  readonly sessionId: string;
  /** The first thing that the user said; empty before. */
  readonly title: string;
  /** Every message of the log, and what happened between them, in order. */
  readonly entries: readonly Entry[];
  /** Fates of the messages that the model no longer sees unchanged, by message id. */
  readonly fates: Readonly<Record<string, Fate>>;
  /** Usage and duration of model calls, by the id of the message that they wrote. */
  readonly replies: Readonly<Record<string, ReplyFigures>>;
  /** Status and duration of tool calls, by the call's id. */
  readonly toolRuns: Readonly<Record<string, ToolRun>>;
  /** The content of the model's window by source; absent before the first model call. */
  readonly context?: ContextUsage | undefined;
  /** The window over time, oldest first, bounded. */
  readonly timeline: readonly TimelinePoint[];
  readonly todos: readonly Todo[];
  /** Tool calls that wait for the user's permission, in the order in which they were made. */
  readonly pending: readonly PendingCall[];
  readonly work: SideWork;
  readonly totals: Totals;
  /** The call that runs now. */
  readonly call?: RunningCall | undefined;
  /** The compaction that runs now, within a call or by itself. */
  readonly compacting?: RunningCompaction | undefined;
}

export type Entry =
  | { readonly type: 'message'; readonly id: string; readonly message: Message }
  | { readonly type: 'compaction'; readonly id: string; readonly compaction: CompactionRecord }
  | { readonly type: 'notice'; readonly id: string; readonly notice: Notice };

/** The fate of a message in a compaction. */
export interface Fate {
  readonly fate: ManifestEntry['fate'];
  /** The entry of the compaction. */
  readonly compactionId: string;
}

/** One compaction, whatever its outcome. */
export interface CompactionRecord {
  readonly id: string;
  readonly at: string;
  readonly reason: CompactionReason;
  readonly status: CompactionStatus;
  /** Why the outcome is what it is, in words. */
  readonly detail: string;
  readonly strategyUsed: string;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly durationMs: number;
  readonly steps: readonly CompactionStep[];
  readonly manifest: readonly ManifestEntry[];
  /** What the model saw right after it of altered messages that stayed, by message id. */
  readonly stubs?: Readonly<Record<string, string>> | undefined;
  /** The summary in place of the removed messages, where one was written. */
  readonly summary?: string | undefined;
  /** True once it was undone. */
  readonly undone: boolean;
}

/** Something to tell the user that is no message. */
export interface Notice {
  readonly level: 'error' | 'warning' | 'info';
  readonly at: string;
  /** Stable, for programs: an error's code, or what the notice is about. */
  readonly code: string;
  readonly message: string;
}

/** The plan and the tasks of subagents, beside the conversation. */
export interface SideWork {
  readonly plan: Plan;
  /** Tasks of subagents, oldest first. */
  readonly tasks: readonly BackgroundTask[];
}

export interface Plan {
  /** The agent may only read until a human has approved the plan. */
  readonly active: boolean;
  /** The path of the plan in the workspace, once there is one. */
  readonly path?: string | undefined;
  readonly text?: string | undefined;
}

export interface BackgroundTask {
  readonly taskId: string;
  readonly subagent: string;
  /** The beginning of the message that it was given. */
  readonly task: string;
  readonly status: 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';
  readonly createdAt: string;
  readonly endedAt?: string | undefined;
  /** The beginning of its answer, or why it failed. */
  readonly outcome?: string | undefined;
}

export interface ReplyFigures {
  readonly usage?: Usage | undefined;
  readonly durationMs: number;
}

export interface ToolRun {
  readonly status: 'running' | 'done' | 'failed';
  readonly durationMs?: number | undefined;
  /** The last progress that a running tool told of. */
  readonly progress?: string | undefined;
  /** The file of the full result, when it was too large for the window. */
  readonly evicted?: { readonly path: string; readonly chars: number } | undefined;
}

/** One model call, or one compaction, on the time line of the window. */
export type TimelinePoint =
  | { readonly type: 'step'; readonly at: string; readonly context: ContextUsage }
  | {
      readonly type: 'compaction';
      readonly at: string;
      readonly compactionId: string;
      readonly status: CompactionStatus;
      /** Tokens in the window before, all sources together. */
      readonly tokensBefore: number;
      /** The window after it. */
      readonly context: ContextUsage;
    };

/** Sums over all model calls of the session. */
export interface Totals {
  readonly modelCalls: number;
  readonly usage: Usage;
}

export interface RunningCall {
  readonly callId: string;
  readonly startedAt: string;
  /** The model call within it, from 1; 0 before the first. */
  readonly step: number;
  /** Text that the model has streamed so far in this step. */
  readonly text: string;
  readonly thinking: string;
  /** Set while a failed model call waits to be made again. */
  readonly retry?: { readonly attempt: number; readonly error: string } | undefined;
}

export interface RunningCompaction {
  readonly at: string;
  readonly reason: CompactionReason;
  readonly strategy: string;
  readonly messagesBefore: number;
  readonly tokensBefore: number;
}

/** A session in which nothing has happened yet. */
export function emptyTranscript(sessionId: string): Transcript {
  return {
    sessionId,
    title: '',
    entries: [],
    fates: {},
    replies: {},
    toolRuns: {},
    timeline: [],
    todos: [],
    pending: [],
    work: { plan: { active: false }, tasks: [] },
    totals: { modelCalls: 0, usage: { inputTokens: 0, outputTokens: 0 } },
  };
}
