import type { ToolResultBlock, ToolUseBlock } from '../messages/content-block.js';
import type { Message } from '../messages/message.js';
import type { Model, ModelRequest, ModelResponse, ToolDefinition, Usage } from '../model/model.js';
import type { Tool } from '../model/tool.js';
import type { SessionLog, SessionStore } from '../sessions/session-store.js';
import type { UserScope } from '../sessions/user-data.js';
import type { Isolation } from '../workspace/agent-files.js';
import type { FileRule, Workspace, WorkspaceConfine } from '../workspace/workspace.js';
import type { AgentActivity } from './agent-activity.js';
import type { AgentEventBody } from './agent-event.js';
import type { AgentState, PermissionRule } from './agent-state.js';
import type { CompactionOutcome, CompactOptions, Pin, PinRequest, Receipt } from './compactor.js';
import type { RuntimeContext } from './runtime-context.js';

/** The parts of an agent, for a capability that creates more agents from them or works outside of calls. */
export interface AgentComposition {
  readonly name: string;
  readonly model: Model;
  /** All tools, including those of the capabilities. */
  readonly tools: readonly Tool[];
  readonly capabilities: readonly Capability[];
  /** The files of all users of the agent. Each call has its own view of them. */
  readonly workspace: Workspace;
  /** The agent's own files (sessions, logs, memory) of all users: see `storageOf`. */
  readonly storage: Workspace;
  readonly isolation: Isolation;
  readonly session: SessionStore;
}

/** The running call. Every hook gets it. */
export interface CallScope {
  readonly agentId: string;
  readonly callId: string;
  readonly model: Model;
  readonly runtime: RuntimeContext;
  readonly state: AgentState;
  /** The files that the call's tools may see: see `agentFiles`. */
  readonly workspace: Workspace;
  /** The agent's own files, of all users. Never show a model the files of another user. */
  readonly storage: Workspace;
  readonly log: SessionLog;
  readonly signal: AbortSignal;
  /** Limits of the call. */
  readonly limits?: { readonly modelMs?: number | undefined } | undefined;
  /** Emits an event. If you emit many events, await each result: it applies the reader's backpressure. */
  emit(event: AgentEventBody): void | Promise<void>;
  /** Stores the session now if the agent checkpoints after each step, or if `isNeeded`. Call it before work begins in another process. */
  checkpoint(isNeeded?: boolean): Promise<void>;
  /** Runs work after the reply, without delaying it. `agent.close()` waits for it. */
  background(name: string, task: (signal: AbortSignal) => Promise<void>): void;
  /** Calls `beforeReduction` of every capability: these messages will be removed from the context. */
  beforeReduction?(removed: readonly Message[]): Promise<void>;
}

/** One reasoning step, and additional messages for the model. */
export interface ReasonScope extends CallScope {
  /** Number of the step within the call, counted from 1. */
  readonly step: number;
  readonly system: string;
  readonly tools: readonly ToolDefinition[];
  /** Messages after the context, for this step only. They are never stored. */
  readonly reminders: readonly Message[];
}

/** One tool call. */
export interface ToolScope extends CallScope {
  /** `undefined` if the model asked for a tool that does not exist. */
  readonly tool: Tool | undefined;
}

/**
 * An objection to a tool call. `deny`: the reason is shown to the model. `ask`: the reason is shown to a person. `confine`: the tool runs
 * with a workspace that denies some files.
 */
export type Objection =
  | { readonly type: 'deny'; readonly reason: string }
  | { readonly type: 'confine'; readonly confine: WorkspaceConfine }
  | {
      readonly type: 'ask';
      readonly reason?: string | undefined;
      /** The rule that a person may save, so that similar calls are allowed in the future. */
      readonly suggestion?: PermissionRule | undefined;
      readonly confine?: WorkspaceConfine | undefined;
    };

/**
 * A feature of an agent: a name, and the hooks that it implements. `around…` hooks are nested. The first installed capability is outermost,
 * unless `before` and `behind` say otherwise. A hook that returns its own answer without calling `next` replaces everything inside. A hook
 * that returns an invalid value fails the call with `hook_invalid`.
 */
export interface Capability {
  readonly name: string;
  /** Capabilities that this one must enclose, if they are installed. */
  readonly before?: readonly string[];
  /** Capabilities that must enclose this one, if they are installed. */
  readonly behind?: readonly string[];
  /** Tools that it adds to the agent. */
  readonly tools?: readonly Tool[];
  /** Called once when the agent is built, with the parts of the agent. */
  install?(agent: AgentComposition): void;
  /** Returns a section of the system prompt. Keep it the same from step to step, because providers cache it. */
  system?(scope: CallScope): string | undefined | Promise<string | undefined>;
  /** Returns messages for the end of this step's request. They are stored neither in the state nor in the log. */
  remind?(scope: CallScope): readonly Message[] | Promise<readonly Message[]>;
  /**
   * Returns the tools to offer to the model in this step, in the order to send them. For the same selection, keep the same order, because
   * providers cache it.
   */
  offerTools?(tools: readonly ToolDefinition[], scope: CallScope): readonly ToolDefinition[];
  /**
   * Runs around a whole call, from the input to the reply. It must call `next`, or throw, for example a {@link StopCallError}. If
   * `next` throws, the call fails with that error, even if the hook catches it.
   */
  aroundCall?(scope: CallScope, next: () => Promise<void>): Promise<void>;
  /** Runs around one reasoning step. It may change `scope.state.context` before `next` builds the request. */
  aroundReason?(scope: ReasonScope, next: () => Promise<ModelResponse>): Promise<ModelResponse>;
  /** Runs around one model request, with the request as it will be sent. */
  aroundModel?(
    request: ModelRequest,
    scope: ReasonScope,
    next: (request: ModelRequest) => Promise<ModelResponse>,
  ): Promise<ModelResponse>;
  /**
   * Decides whether a tool call may run: returns nothing, or an objection. It must not have effects, because it is called several times:
   * before any call of the step runs, again if an earlier call may have changed the decision, and for input that a person edited. The
   * strictest capability wins, and a denial overrides a person's approval. An error counts as a denial.
   */
  authorize?(call: ToolUseBlock, scope: ToolScope): Objection | undefined | Promise<Objection | undefined>;
  /** Returns `true` if no person can be asked during this call. Each request for approval is then denied. */
  unattended?(scope: CallScope): boolean | Promise<boolean>;
  /**
   * Returns a function that denies files of the workspace. If `scope` has a tool, the function applies to that tool call, after `authorize`
   * has allowed the call. Otherwise, it applies to capabilities that put files into the prompt.
   */
  confine?(scope: CallScope | ToolScope): WorkspaceConfine | undefined;
  /** Returns the rules about denied files, for tools that run programs which must not read them. */
  deniesFiles?(scope: CallScope): readonly FileRule[] | Promise<readonly FileRule[]>;
  /** Runs around one tool call that is allowed to run. */
  aroundTool?(
    call: ToolUseBlock,
    scope: ToolScope,
    next: (call: ToolUseBlock) => Promise<ToolResultBlock>,
  ): Promise<ToolResultBlock>;
  /** Returns the provider's tokens per token of the local counter, if usage reports have shown the ratio. Events then count provider tokens. */
  tokenRatio?(scope: CallScope): number | undefined;
  /** Computes the cost of a model call, if the price of the model is known. */
  priceOf?(modelId: string, usage: Usage): number | undefined;
  /**
   * Receives every event of the agent's calls. The first error that it throws in a call becomes a `warning` event; later ones are
   * ignored.
   */
  observe?(event: AgentEventBody, scope: CallScope): void;
  /** Receives events around calls, for metrics: waits, turns, store requests, rejected calls. If it throws, the process emits a warning. */
  monitor?(activity: AgentActivity): void;
  /**
   * Called before messages are permanently removed from the context. Save the parts that you need now. The compaction waits, so use
   * `scope.background` for long work.
   */
  beforeReduction?(removed: readonly Message[], scope: CallScope): void | Promise<void>;
  /** Compacts the context on demand. Called by `agent.compact()`. */
  compact?(
    scope: ReasonScope,
    options: Pick<CompactOptions, 'instructions' | 'upTo'>,
  ): Promise<CompactionOutcome>;
  /** Restores the context from before the last compaction, followed by later messages. Returns whether this was possible. */
  undo?(scope: ReasonScope): Promise<boolean>;
  /** Returns a receipt of a session: the items that the model no longer sees, and the cost of the compactions. */
  explain?(session: Pick<CallScope, 'state' | 'log'>): Promise<Receipt>;
  /** Keeps a message's text, or any text, word for word through every compaction. */
  pin?(scope: ReasonScope, what: PinRequest): Promise<Pin>;
  /** Removes a pin. Returns whether it existed. */
  unpin?(scope: ReasonScope, id: string): Promise<boolean>;
  /**
   * Deletes the user's data that the capability keeps outside the agent's storage, and cancels its pending writes. Not called while a call
   * of the user is running.
   */
  erase?(user: UserScope): Promise<void>;
  /**
   * Releases the resources of the capability.
   *
   * @param options `drainMs`: milliseconds for which its running work may continue.
   */
  close?(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}
