import type { ModelErrorKind } from '../errors/model-error.js';
import type { ToolOutputBlock, ToolResultBlock, ToolUseBlock } from '../messages/content-block.js';
import type { Message } from '../messages/message.js';
import type { FinishReason, Usage } from '../model/model.js';
import type { ContextUsage } from '../tokens/context-meter.js';
import type { PermissionRule } from './agent-state.js';
import type { CompactionCost } from './compaction-cost.js';
import type { CompactionOutcome, CompactionReason, GoneItem } from './compactor.js';

/** The reason why a call ended. */
export type StopReason =
  | 'completed'
  /** The answer reached the limit of output tokens and was cut off. */
  | 'truncated'
  /** The model declined to answer. */
  | 'refused'
  /** The provider withheld the answer. */
  | 'filtered'
  /** A timeout: of the call, of a hook, or of a model after its retries. */
  | 'timed_out'
  | 'max_iterations'
  /** The call's `stopWhen` returned true. */
  | 'stop_condition'
  | 'permission_required'
  /** A repeated call was replaced by a later call. The later call's reply answers both. */
  | 'superseded'
  | 'interrupted'
  | 'budget_exceeded'
  | 'shutdown';

/** A tool call that waits for a human's decision. */
export interface PendingCall extends ToolUseBlock {
  /** Id of the approval. Decisions refer to it. */
  readonly approvalId: string;
  /** The subagent that made the call, as `agent_spawn` names it. `undefined` for the agent's own calls. */
  readonly agentId?: string | undefined;
  /** A sentence that says why a person must decide. */
  readonly reason?: string | undefined;
  /** The rule that an approval with `always` would add. `undefined` if each call needs its own approval. */
  readonly suggestion?: PermissionRule | undefined;
  /** ISO 8601, UTC. */
  readonly askedAt: string;
}

/** The answer that a delta belongs to. */
export interface DraftReference {
  /** The id that the message will have when the answer is complete. */
  readonly messageId: string;
  /** Number of the attempt at this message, counted from 1. */
  readonly draft: number;
}

/** An event of a call, without the fields that all events have. */
export type AgentEventBody =
  | { readonly type: 'call.started'; readonly callId: string; readonly resumed: boolean }
  | { readonly type: 'message.added'; readonly message: Message }
  | { readonly type: 'model.started'; readonly step: number; readonly context: ContextUsage }
  /** Text of the answer. The deltas that are not discarded add up to the message's text. */
  | ({ readonly type: 'text.delta'; readonly text: string } & DraftReference)
  | ({ readonly type: 'thinking.delta'; readonly text: string } & DraftReference)
  /** A piece of the JSON input of a tool call. The event `tool.call` has the whole input. */
  | ({
      readonly type: 'tool.delta';
      readonly toolUseId: string;
      readonly name: string;
      readonly inputDelta: string;
    } & DraftReference)
  /**
   * All deltas of this draft are void, because the model call is retried or a hook replaced its answer. `text` is the text of all
   * `text.delta` events of the draft: remove that many characters from the end of your output.
   */
  | ({ readonly type: 'draft.discarded'; readonly text: string } & DraftReference)
  /** The model call failed and will be retried. */
  | {
      readonly type: 'model.retrying';
      /** Number of the retry, counted from 1. */
      readonly attempt: number;
      /** Pause before the retry, in milliseconds. */
      readonly delayMs: number;
      readonly error: string;
    }
  /** The model failed after its retries. Another model is used for the rest of the call. */
  | {
      readonly type: 'model.fallback';
      readonly from: string;
      readonly to: string;
      readonly reason: ModelErrorKind;
      readonly error: string;
    }
  | {
      readonly type: 'model.completed';
      readonly step: number;
      readonly message: Message;
      readonly finishReason: FinishReason;
      readonly usage?: Usage | undefined;
      readonly durationMs: number;
    }
  | { readonly type: 'tool.call'; readonly call: ToolUseBlock }
  /** Progress of a running tool. Each update replaces the one before. */
  | {
      readonly type: 'tool.progress';
      readonly toolUseId: string;
      readonly name: string;
      readonly output: readonly ToolOutputBlock[];
    }
  | { readonly type: 'tool.result'; readonly result: ToolResultBlock; readonly durationMs: number }
  | {
      readonly type: 'tool.evicted';
      readonly toolUseId: string;
      readonly path: string;
      /** Length of the text in UTF-16 units. */
      readonly chars: number;
    }
  /** The text of a message was evicted to a file of the workspace. The log still has the whole message. */
  | {
      readonly type: 'message.evicted';
      readonly messageId: string;
      readonly path: string;
      /** Length of the text in UTF-16 units. */
      readonly chars: number;
    }
  /**
   * Content of a message was replaced by a line that describes it, because the provider rejected it or a caller requested it. The log still
   * has the whole message, and `agent.restoreMessage` restores it.
   */
  | { readonly type: 'message.set_aside'; readonly messageId: string; readonly what: string }
  | {
      readonly type: 'context.compacting';
      readonly reason: CompactionReason;
      readonly strategy: string;
      readonly messagesBefore: number;
      readonly tokensBefore: number;
    }
  /**
   * The outcome of a compaction, without its messages. `modelCalls` includes calls made ahead of time. Each call was reported by
   * `usage.reported` when it ended.
   */
  | (Omit<CompactionOutcome, 'messages'> & {
      readonly type: 'context.compacted';
      readonly reason: CompactionReason;
      /** The stages that changed something, joined by `+`. */
      readonly stagesUsed: string;
      /** Items that the model no longer sees, most important first. `undefined` if nothing changed. */
      readonly gone?: readonly GoneItem[] | undefined;
      /** Cost of the model calls, if prices are known. The harness adds it. */
      readonly cost?: number | undefined;
      /** Tokens in the window afterwards, by source. The harness adds it. */
      readonly context?: ContextUsage | undefined;
    })
  /**
   * The narrative of a compaction arrived after its record was committed. It is now at the end of the conversation. The next compaction
   * moves it into the summary.
   */
  | {
      readonly type: 'context.narrated';
      readonly messageId: string;
      readonly tokens: number;
      /** Number of model calls for it. Each was reported by `usage.reported` when it ended. */
      readonly modelCalls: number;
      readonly usage?: Usage | undefined;
      /** Cost of the model calls, if prices are known. The harness adds it. */
      readonly cost?: number | undefined;
      /** Tokens in the window afterwards, by source. The harness adds it. */
      readonly context?: ContextUsage | undefined;
    }
  /** A compaction was undone: the latest one that had not been undone before. */
  | {
      readonly type: 'context.restored';
      readonly tokensBefore?: number | undefined;
      readonly tokensAfter?: number | undefined;
      /** Tokens in the window afterwards, by source. The harness adds it. */
      readonly context?: ContextUsage | undefined;
    }
  /** `updateState()` or `setPermissionMode()` changed the state during the call. */
  | { readonly type: 'state.changed' }
  /** The answer does not match the requested schema. `error` says why. The model gets `error`, and may try again. */
  | { readonly type: 'output.rejected'; readonly attempt: number; readonly error: string }
  /** Tokens of a model call outside the steps of the conversation: for a compaction, memory, a subagent, or an answer that was not used. */
  | {
      readonly type: 'usage.reported';
      /** The capability that made the model call; `unused_answer` for an answer that could not be used. */
      readonly source: string;
      /** The task whose subagent made the model call. The subagent's own events report it, too. */
      readonly taskId?: string | undefined;
      readonly modelId: string;
      readonly usage: Usage;
    }
  /** Another writer stored the session in the meantime. Its messages were merged into the conversation. */
  | { readonly type: 'session.merged' }
  /**
   * The session store did not respond for so long that another process may have taken the lease. Until it responds, tools with effects do
   * not start, and commits wait. `isOver` means that the store responded, and this call still has the lease.
   */
  | { readonly type: 'turn.uncertain'; readonly isOver: boolean }
  | {
      readonly type: 'budget.exceeded';
      readonly scope: 'call' | 'session';
      readonly unit: 'tokens' | 'cost';
      readonly used: number;
      readonly limit: number;
    }
  /** Memory wrote facts to the day's note. `bullets` is 0 if there was nothing to remember. */
  | {
      readonly type: 'memory.flushed';
      /** Number of messages that were read. */
      readonly messages: number;
      readonly bullets: number;
      /** Path of the note in the workspace. `undefined` if nothing was written. */
      readonly path?: string | undefined;
      readonly durationMs: number;
    }
  /** Notes were merged into MEMORY.md. */
  | {
      readonly type: 'memory.consolidated';
      readonly path: string;
      /** Lines of notes that were read. */
      readonly lines: number;
      readonly durationMs: number;
    }
  /** Work on the memory failed. It will be retried, unless `error` says that something was skipped. */
  | {
      readonly type: 'memory.failed';
      readonly operation: 'flush' | 'consolidation' | 'maintenance';
      readonly error: string;
    }
  /** The call ends, because these tool calls wait for a person's decision. Pass the decisions to the next call. */
  | { readonly type: 'permission.required'; readonly calls: readonly PendingCall[] }
  | {
      readonly type: 'permission.decided';
      readonly call: PendingCall;
      readonly decision: 'approved' | 'edited' | 'denied' | 'expired' | 'superseded';
      /** The rule that was saved and allows such calls from now on. */
      readonly rule?: PermissionRule | undefined;
    }
  /** A subagent's task started or ended. It may end after the call that started it. */
  | {
      readonly type: 'task.changed';
      readonly taskId: string;
      readonly subagent: string;
      readonly status: 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';
    }
  /** An event of a subagent's call. It may come after the call that started the task has ended. */
  | {
      readonly type: 'subagent.event';
      readonly taskId: string;
      readonly subagent: string;
      readonly event: AgentEvent;
    }
  | { readonly type: 'warning'; readonly source: string; readonly message: string }
  | {
      readonly type: 'call.completed';
      readonly callId: string;
      readonly stopReason: StopReason;
      /** The reason why the model stopped in the last step. */
      readonly finishReason?: FinishReason | undefined;
      /** Text of the last answer. If it was cut off and continued, the text of all its parts. */
      readonly text: string;
      /** Number of model steps. */
      readonly steps: number;
      /** The tool calls that wait for a person's decision. Empty unless the stop reason is `permission_required`. */
      readonly pendingCalls: readonly PendingCall[];
      readonly usage: Usage;
      /** Cost and savings of the compactions of this call. `undefined` if there were none. `usage` does not include their tokens. */
      readonly compaction?: CompactionCost | undefined;
      /** Tokens in the window afterwards, by source. The harness adds it. */
      readonly context?: ContextUsage | undefined;
      /** The validated answer of a call with structured output. */
      readonly output?: unknown;
    }
  | { readonly type: 'call.failed'; readonly callId: string; readonly error: unknown };

/** An event of a call. */
export type AgentEvent = AgentEventBody & {
  /** Number of the event within the call, counted from 1. Readers use it as a cursor. If events were joined, the number of the last. */
  readonly seq: number;
  readonly sessionId: string;
  readonly agentId: string;
  readonly callId: string;
  /** Number of the model step within the call, counted from 1. 0 before the first step. */
  readonly step: number;
  /** ISO 8601, UTC. */
  readonly at: string;
};
