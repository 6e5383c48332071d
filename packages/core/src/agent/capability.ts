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

/** The parts of an agent, for a capability that makes more agents of them or works beside calls. */
export interface AgentComposition {
  readonly name: string;
  readonly model: Model;
  /** Including the tools of its capabilities. */
  readonly tools: readonly Tool[];
  readonly capabilities: readonly Capability[];
  /** The files of all its users; a call has its own view of them. */
  readonly workspace: Workspace;
  /** The agent's own files (sessions, logs, memory) of all users: see `storageOf`. */
  readonly storage: Workspace;
  readonly isolation: Isolation;
  readonly session: SessionStore;
}

/** The running call, as every hook sees it. */
export interface CallScope {
  readonly agentId: string;
  readonly callId: string;
  readonly model: Model;
  readonly runtime: RuntimeContext;
  readonly state: AgentState;
  /** The files that the call's tools may see: see `agentFiles`. */
  readonly workspace: Workspace;
  /** The agent's own files of all users. Never show a model another user's. */
  readonly storage: Workspace;
  readonly log: SessionLog;
  readonly signal: AbortSignal;
  /** Limits of the call. */
  readonly limits?: { readonly modelMs?: number | undefined } | undefined;
  /** Emits an event. Await the result if you emit many, so that a slow reader slows you down. */
  emit(event: AgentEventBody): void | Promise<void>;
  /** Stores the session now if the agent checkpoints by step, or if `isNeeded`. Call it before work begins in another process. */
  checkpoint(isNeeded?: boolean): Promise<void>;
  /** Runs work after the reply, without delaying it. `agent.close()` waits for it. */
  background(name: string, task: (signal: AbortSignal) => Promise<void>): void;
  /** Calls `beforeReduction` of every capability: these messages are about to leave the context. */
  beforeReduction?(removed: readonly Message[]): Promise<void>;
}

/** One reasoning step, and what the model is about to read beside the context in the state. */
export interface ReasonScope extends CallScope {
  /** From 1 within the call. */
  readonly step: number;
  readonly system: string;
  readonly tools: readonly ToolDefinition[];
  /** Messages behind the context, for this step alone. They are never stored. */
  readonly reminders: readonly Message[];
}

/** One tool call. */
export interface ToolScope extends CallScope {
  /** `undefined` if the model asked for a tool that does not exist. */
  readonly tool: Tool | undefined;
}

/**
 * An objection to a tool call. `deny`: the model reads the reason. `ask`: a human reads it. `confine`: the tool runs with a
 * workspace that refuses some files.
 */
export type Objection =
  | { readonly type: 'deny'; readonly reason: string }
  | { readonly type: 'confine'; readonly confine: WorkspaceConfine }
  | {
      readonly type: 'ask';
      readonly reason?: string | undefined;
      /** The rule that a human may keep, so that later calls like this one are allowed. */
      readonly suggestion?: PermissionRule | undefined;
      readonly confine?: WorkspaceConfine | undefined;
    };

/**
 * An ability of an agent: a name, and the hooks that it implements. `around…` hooks enclose each other like the layers of an
 * onion. The first that is installed is outermost, unless `before` and `behind` say otherwise. A hook that returns its own answer
 * without calling `next` replaces everything inside. A hook that returns an invalid value fails the call with `hook_invalid`.
 */
export interface Capability {
  readonly name: string;
  /** Capabilities that this one must enclose, if they are installed. */
  readonly before?: readonly string[];
  /** Capabilities that must enclose this one, if they are installed. */
  readonly behind?: readonly string[];
  /** Tools that it adds. */
  readonly tools?: readonly Tool[];
  /** Called once when the agent is built, with the parts of the agent. */
  install?(agent: AgentComposition): void;
  /** Returns a section of the system prompt. Keep it the same from step to step: providers cache it. */
  system?(scope: CallScope): string | undefined | Promise<string | undefined>;
  /** Returns messages for the end of this step's request. They enter neither state nor log. */
  remind?(scope: CallScope): readonly Message[] | Promise<readonly Message[]>;
  /**
   * Chooses the tools that the model is offered in this step, in the order given. Return the same list for the same choice:
   * it is cached.
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
   * Judges whether a tool call may run: nothing, or an objection. Must not have effects, since it is asked several times:
   * before any call of the step runs, again when an earlier call may have changed the answer, and for input that a human
   * edited. The strictest capability wins, and a denial wins against a human's approval. An error counts as a denial.
   */
  authorize?(call: ToolUseBlock, scope: ToolScope): Objection | undefined | Promise<Objection | undefined>;
  /** Returns whether nobody can be asked in this call: every question is then a denial. */
  unattended?(scope: CallScope): boolean | Promise<boolean>;
  /**
   * Refuses files of the workspace: to capabilities that show files to the model, and, if `scope` has a tool, to a tool whose call
   * `authorize` has judged.
   */
  confine?(scope: CallScope | ToolScope): WorkspaceConfine | undefined;
  /** Returns the rules about refused files, for tools that run programs which must not read them. */
  deniesFiles?(scope: CallScope): readonly FileRule[] | Promise<readonly FileRule[]>;
  /** Runs around one tool call that is allowed to run. */
  aroundTool?(
    call: ToolUseBlock,
    scope: ToolScope,
    next: (call: ToolUseBlock) => Promise<ToolResultBlock>,
  ): Promise<ToolResultBlock>;
  /** Computes the cost of a model call, if the price of the model is known. */
  priceOf?(modelId: string, usage: Usage): number | undefined;
  /**
   * Receives every event of the agent's calls. The first error that it throws in a call becomes a `warning` event; later ones are
   * ignored.
   */
  observe?(event: AgentEventBody, scope: CallScope): void;
  /**
   * Receives what happens around calls, for metrics: waits, turns, store requests, refused calls. If it throws, the process emits
   * a warning.
   */
  monitor?(activity: AgentActivity): void;
  /**
   * Called before messages leave the context for good. Save what you need of them now. The reduction waits, so leave long work to
   * `scope.background`.
   */
  beforeReduction?(removed: readonly Message[], scope: CallScope): void | Promise<void>;
  /** Reduces the context on demand. `agent.compact()` calls it. */
  compact?(
    scope: ReasonScope,
    options: Pick<CompactOptions, 'instructions' | 'upTo'>,
  ): Promise<CompactionOutcome>;
  /** Restores the context from before the last reduction, followed by later messages. Returns whether it could. */
  undo?(scope: ReasonScope): Promise<boolean>;
  /** Says what the model no longer sees of a session. */
  explain?(session: Pick<CallScope, 'state' | 'log'>): Promise<Receipt>;
  /** Keeps a message's text, or any text, word for word through every reduction. */
  pin?(scope: ReasonScope, what: PinRequest): Promise<Pin>;
  /** Removes a pin. Returns whether there was one. */
  unpin?(scope: ReasonScope, id: string): Promise<boolean>;
  /** Deletes what the capability keeps of a user outside the agent's storage, and what it is about to write there. */
  erase?(user: UserScope): Promise<void>;
  /**
   * Releases what the capability opened.
   *
   * @param options `drainMs`: milliseconds that work which it has under way may still take.
   */
  close?(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}
