import type { ModelErrorKind } from '../errors/model-error.js';
import type { ToolOutputBlock, ToolResultBlock, ToolUseBlock } from '../messages/content-block.js';
import type { Message } from '../messages/message.js';
import type { FinishReason, Usage } from '../model/model.js';
import type { ContextUsage } from '../tokens/context-meter.js';
import type { PermissionRule } from './agent-state.js';
import type { CompactionCost } from './compaction-cost.js';
import type {
  CompactionReason,
  CompactionStatus,
  CompactionStep,
  GoneItem,
  ManifestEntry,
  PinProof,
} from './compactor.js';

/** The reason for which a call ended. */
export type StopReason =
  | 'completed'
  /** The answer was cut off at the limit of output tokens. */
  | 'truncated'
  /** The model declined to answer. */
  | 'refused'
  /** The provider withheld the answer. */
  | 'filtered'
  /** A limit of time ran out: that of the call, of a hook, or of a model after its retries. */
  | 'timed_out'
  | 'max_iterations'
  /** `stopWhen` of the call said so. */
  | 'stop_condition'
  | 'permission_required'
  /** Another call came before this one had ended, and its reply answers both. For a call that is repeated. */
  | 'superseded'
  | 'interrupted'
  | 'budget_exceeded'
  | 'shutdown';

/** A tool call that waits for a human's decision. */
export interface PendingCall extends ToolUseBlock {
  /** The approval's own id, by which a decision names it. */
  readonly approvalId: string;
  /** The subagent whose call it is, as `agent_spawn` names it; left out for the agent's own. */
  readonly agentId?: string | undefined;
  /** The reason for asking, in words. */
  readonly reason?: string | undefined;
  /** The rule that an approval for always would add; left out where every call needs its own approval. */
  readonly suggestion?: PermissionRule | undefined;
  /** ISO 8601, UTC. */
  readonly askedAt: string;
}

/** The answer that a piece belongs to. */
export interface DraftReference {
  /** The id that the message will have when the answer is complete. */
  readonly messageId: string;
  /** Counts the attempts at this message, from 1. */
  readonly draft: number;
}

/** One happening in a call, without the fields that every event has. */
export type AgentEventBody =
  | { readonly type: 'call.started'; readonly callId: string; readonly resumed: boolean }
  | { readonly type: 'message.added'; readonly message: Message }
  | { readonly type: 'model.started'; readonly step: number; readonly context: ContextUsage }
  /** Text of the answer. What is streamed and not discarded is the text of the message, word for word. */
  | ({ readonly type: 'text.delta'; readonly text: string } & DraftReference)
  | ({ readonly type: 'thinking.delta'; readonly text: string } & DraftReference)
  /** A piece of the JSON that is the input of a tool call. `tool.call` has the input whole. */
  | ({
      readonly type: 'tool.delta';
      readonly toolUseId: string;
      readonly name: string;
      readonly inputDelta: string;
    } & DraftReference)
  /**
   * Every delta of this draft is void: the model is asked again, or a hook replaced its answer. `text` is what the
   * `text.delta` events of the draft held together; the last so many characters of what was printed go.
   */
  | ({ readonly type: 'draft.discarded'; readonly text: string } & DraftReference)
  /** The model call failed and is made again. */
  | {
      readonly type: 'model.retrying';
      readonly attempt: number;
      readonly delayMs: number;
      readonly error: string;
    }
  /** The model failed for good and another takes over for the rest of the call. */
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
  /** A running tool tells how far it is: each update replaces the one before. */
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
      readonly chars: number;
    }
  /** The text of a message was written to the workspace; the log has the message whole. */
  | {
      readonly type: 'message.evicted';
      readonly messageId: string;
      readonly path: string;
      readonly chars: number;
    }
  /**
   * Content of a message was replaced by a line that names it, since the provider refused it or someone asked for that. The log has the
   * message whole, and `agent.restoreMessage` brings it back.
   */
  | { readonly type: 'message.set_aside'; readonly messageId: string; readonly what: string }
  | {
      readonly type: 'context.compacting';
      readonly reason: CompactionReason;
      readonly strategy: string;
      readonly messagesBefore: number;
      readonly tokensBefore: number;
    }
  | {
      readonly type: 'context.compacted';
      readonly reason: CompactionReason;
      readonly status: CompactionStatus;
      /** The reason for the outcome, in words. */
      readonly message: string;
      /** The strategies that ran, joined by `+`. */
      readonly stagesUsed: string;
      readonly messagesBefore: number;
      readonly messagesAfter: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly durationMs: number;
      readonly steps: readonly CompactionStep[];
      /** One entry for every message that was removed or altered. */
      readonly manifest: readonly ManifestEntry[];
      /** The pins, and where each of them is now. */
      readonly pins?: readonly PinProof[] | undefined;
      /** What the model no longer sees, what matters most first; left out where nothing changed. */
      readonly gone?: readonly GoneItem[] | undefined;
      /** Model calls that it used, also those that were made ahead of time. Each was told by `usage.reported` when it ended. */
      readonly modelCalls?: number | undefined;
      readonly usage?: Usage | undefined;
      /** What they cost, where prices are known. The harness adds it. */
      readonly cost?: number | undefined;
      /** The window afterwards, by source. The harness adds it; other emitters may leave it out. */
      readonly context?: ContextUsage | undefined;
    }
  /**
   * The narrative of a compaction came when its record stood already: it is behind the conversation now, until the next compaction
   * takes it into the summary.
   */
  | {
      readonly type: 'context.narrated';
      readonly messageId: string;
      readonly tokens: number;
      /** The model calls that wrote it. Each was told by `usage.reported` when it ended. */
      readonly modelCalls: number;
      readonly usage?: Usage | undefined;
      /** What they cost, where prices are known. The harness adds it. */
      readonly cost?: number | undefined;
      /** The window afterwards, by source. The harness adds it; other emitters may leave it out. */
      readonly context?: ContextUsage | undefined;
    }
  /** The last compaction that was not yet undone was undone. */
  | {
      readonly type: 'context.restored';
      readonly tokensBefore?: number | undefined;
      readonly tokensAfter?: number | undefined;
      /** The window afterwards, by source. The harness adds it; other emitters may leave it out. */
      readonly context?: ContextUsage | undefined;
    }
  /** Something other than the running call changed the state: `updateState()` or `setPermissionMode()`. */
  | { readonly type: 'state.changed' }
  /** The answer does not match the requested schema. The model gets the reason and another try. */
  | { readonly type: 'output.rejected'; readonly attempt: number; readonly error: string }
  /** Tokens of a model call that is not a step of the conversation: of a compaction, a memory, a subagent. */
  | {
      readonly type: 'usage.reported';
      /** The capability that made the model call. */
      readonly source: string;
      /** The task whose subagent made it: its own events tell of it, too. */
      readonly taskId?: string | undefined;
      readonly modelId: string;
      readonly usage: Usage;
    }
  /** Another writer had stored the session since; what it said is in the conversation now, too. */
  | { readonly type: 'session.merged' }
  /**
   * The session store did not answer for so long that another process may have taken the turn: no tool that changes something begins,
   * and commits wait. With `isOver`, the store has answered that the turn is still this call's.
   */
  | { readonly type: 'turn.uncertain'; readonly isOver: boolean }
  | {
      readonly type: 'budget.exceeded';
      readonly scope: 'call' | 'session';
      readonly unit: 'tokens' | 'cost';
      readonly used: number;
      readonly limit: number;
    }
  /** Memory has written to the day's note; `bullets` is 0 when nothing was worth it. */
  | {
      readonly type: 'memory.flushed';
      /** Messages that were read for it. */
      readonly messages: number;
      readonly bullets: number;
      /** The note, as a path in the workspace; left out when nothing was written. */
      readonly path?: string | undefined;
      readonly durationMs: number;
    }
  /** Notes were merged into MEMORY.md. */
  | {
      readonly type: 'memory.consolidated';
      readonly path: string;
      readonly charsBefore: number;
      readonly charsAfter: number;
      readonly durationMs: number;
    }
  /** Work on the memory failed. It is tried again later, unless `error` says that something was skipped. */
  | {
      readonly type: 'memory.failed';
      readonly operation: 'flush' | 'consolidation' | 'maintenance';
      readonly error: string;
    }
  /** The call ends here: these tool calls wait for a human. The next call carries the decisions. */
  | { readonly type: 'permission.required'; readonly calls: readonly PendingCall[] }
  | {
      readonly type: 'permission.decided';
      readonly call: PendingCall;
      readonly decision: 'approved' | 'edited' | 'denied' | 'expired' | 'superseded';
      /** The rule that was kept, so that such calls are allowed from now on. */
      readonly rule?: PermissionRule | undefined;
    }
  /** A subagent's work began or ended, also after the call that gave it. */
  | {
      readonly type: 'task.changed';
      readonly taskId: string;
      readonly subagent: string;
      readonly status: 'pending' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';
    }
  /** An event of a subagent's call, also after the call that gave the task. */
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
      /** The reason for which the model stopped in the last step. */
      readonly finishReason?: FinishReason | undefined;
      /** Text of the last answer; of one that was cut off and continued, all of it. */
      readonly text: string;
      /** Reasoning steps taken. */
      readonly steps: number;
      /** The tool calls that wait for a human; none unless the stop reason is `permission_required`. */
      readonly pendingCalls: readonly PendingCall[];
      readonly usage: Usage;
      /** What compactions cost and saved in this call; left out where they did neither. `usage` does not include it. */
      readonly compaction?: CompactionCost | undefined;
      /** The validated answer of a call that asked for one. */
      readonly output?: unknown;
    }
  | { readonly type: 'call.failed'; readonly callId: string; readonly error: unknown };

/** One event of a call. */
export type AgentEvent = AgentEventBody & {
  /** Counts the events of the call from 1: the cursor of a reader. Events that were joined have the last one's. */
  readonly seq: number;
  readonly sessionId: string;
  readonly agentId: string;
  readonly callId: string;
  /** The reasoning step, from 1 within the call; 0 before the first. */
  readonly step: number;
  /** ISO 8601, UTC. */
  readonly at: string;
};
