import type {
  AgentEventBody,
  CompactionStatus,
  ContextUsage,
  ManifestEntry,
  Message,
  PendingCall,
  PermissionContext,
  Todo,
  Usage,
} from '@x/core';
import type { SubagentTask } from '@x/harness';

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
  /** The window over time, oldest first. */
  readonly timeline: readonly TimelinePoint[];
  readonly todos: readonly Todo[];
  /** Tool calls that wait for the user's permission, in the order in which they were made. */
  readonly pending: readonly PendingCall[];
  readonly work: SideWork;
  /** Sums over all model calls of the session. */
  readonly totals: { readonly modelCalls: number; readonly usage: Usage };
  /** The call that runs now. */
  readonly call?: RunningCall | undefined;
  /** The compaction that runs now, within a call or by itself. */
  readonly compacting?: { readonly messagesBefore: number } | undefined;
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
export type CompactionRecord = Omit<AgentBody<'context.compacted'>, 'type'> &
  Omit<CompactionDetails, 'context'> & {
    readonly id: string;
    readonly at: string;
    /** The tokens of the model that wrote the summary; absent when rules wrote it. */
    readonly usage?: Usage | undefined;
    /** True once it was undone. */
    readonly undone: boolean;
  };

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
  /** What the agent may do unasked, where the user said so. */
  readonly permissionMode?: PermissionContext['mode'];
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

/** A task of a subagent; `task` is the beginning of the message that it was given. */
export type BackgroundTask = Pick<
  SubagentTask,
  'taskId' | 'subagent' | 'task' | 'status' | 'createdAt' | 'endedAt'
> & {
  /** The beginning of its answer, or why it failed. */
  readonly outcome?: string | undefined;
};

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
export interface TimelinePoint {
  readonly at: string;
  /** The window in it; of a compaction, after it. */
  readonly context: ContextUsage;
  /** The number of the request, from 1. Of a compaction or an undo, that of the request before it. */
  readonly step: number;
  readonly compaction?:
    | {
        readonly id: string;
        readonly status: CompactionStatus;
        /** Tokens in the window before, all sources together. */
        readonly tokensBefore: number;
      }
    | undefined;
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

type AgentBody<Type extends AgentEventBody['type']> = Extract<AgentEventBody, { readonly type: Type }>;

/**
 * An event for the page: the agent's events as plain JSON, with the summary and the window after a compaction, and events of
 * a session outside a call.
 */
export type PageEventBody =
  | Exclude<AgentEventBody, AgentBody<'call.failed'> | AgentBody<'context.compacted'>>
  | { readonly type: 'call.failed'; readonly callId: string; readonly error: ErrorInfo }
  | (AgentBody<'context.compacted'> & CompactionDetails)
  | { readonly type: 'context.restored'; readonly compactionId: string; readonly context?: ContextUsage }
  | { readonly type: 'work.changed'; readonly work: SideWork }
  | { readonly type: 'todos.changed'; readonly todos: readonly Todo[] };

export type PageEvent = PageEventBody & {
  readonly sessionId: string;
  /** ISO 8601, UTC. */
  readonly at: string;
};

/** An error as the page shows it: a stable code, and the problem and the remedy for people. */
export type ErrorInfo = Pick<Notice, 'code' | 'message'>;

/** Facts of a compaction that the agent's `context.compacted` event lacks. */
export interface CompactionDetails {
  /** The summary that was written, if any. */
  readonly summary?: string | undefined;
  /** What the model saw right after it of altered messages that stayed, by message id. */
  readonly stubs?: Readonly<Record<string, string>> | undefined;
  /** The window after the compaction, by source. Without it the next step tells. */
  readonly context?: ContextUsage | undefined;
}
