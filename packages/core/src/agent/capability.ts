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

/** Parts of an agent, for a capability that makes others like it or works beside its calls. */
export interface AgentComposition {
  readonly name: string;
  readonly model: Model;
  /** Those of its capabilities included. */
  readonly tools: readonly Tool[];
  readonly capabilities: readonly Capability[];
  /** The files of all its users; a call has its own view of them. */
  readonly workspace: Workspace;
  /** What the agent keeps for itself, of all its users: see `storageOf`. */
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
  /** What the agent keeps for itself, of all its users: never show a model more of it than is its user's. */
  readonly storage: Workspace;
  readonly log: SessionLog;
  readonly signal: AbortSignal;
  /** Limits of the call. Left out by callers that have none. */
  readonly limits?: { readonly modelMs?: number | undefined } | undefined;
  /** Tells of something. Who tells of much awaits the result, which slows it down to the reader of the events. */
  emit(event: AgentEventBody): void | Promise<void>;
  /** Writes the state to the session store, if the agent checkpoints by step or `isNeeded` says so: before work begins elsewhere. */
  checkpoint(isNeeded?: boolean): Promise<void>;
  /** Runs something after the reply, without delaying it; `agent.close()` waits for it. */
  background(name: string, task: (signal: AbortSignal) => Promise<void>): void;
  /** Tells every capability that messages are about to leave the context. Left out by callers without capabilities. */
  beforeReduction?(removed: readonly Message[]): Promise<void>;
}

/** One reasoning step: what the model is about to be asked, beside the context in the state. */
export interface ReasonScope extends CallScope {
  /** From 1 within the call. */
  readonly step: number;
  readonly system: string;
  readonly tools: readonly ToolDefinition[];
  /** Transient messages that stand behind the context in this step's view. */
  readonly reminders: readonly Message[];
}

/** One tool call. */
export interface ToolScope extends CallScope {
  /** `undefined` when the model asked for a tool that does not exist. */
  readonly tool: Tool | undefined;
}

/**
 * An objection to a tool call: the model reads why it is denied, or a human why they are asked. With `confine` the tool runs
 * with a workspace that refuses some files.
 */
export type Objection =
  | { readonly type: 'deny'; readonly reason: string }
  | { readonly type: 'confine'; readonly confine: WorkspaceConfine }
  | {
      readonly type: 'ask';
      readonly reason?: string | undefined;
      /** The rule that a human may keep, so that such calls are not asked for again. */
      readonly suggestion?: PermissionRule | undefined;
      readonly confine?: WorkspaceConfine | undefined;
    };

/**
 * An ability of an agent: a name and the hooks it wants. The harness runs the `around…` hooks as an onion, first
 * installed outermost unless `before` and `behind` say otherwise; a hook that returns an answer of its own, and does not call
 * `next`, replaces what is within. A hook that returns what it may not fails the call with `hook_invalid`.
 */
export interface Capability {
  readonly name: string;
  /** Names of capabilities that it must enclose where they are installed: whoever builds the agent puts it before them. */
  readonly before?: readonly string[];
  /** Names of capabilities that must enclose it where they are installed. */
  readonly behind?: readonly string[];
  /** Tools that it brings. */
  readonly tools?: readonly Tool[];
  /** Told once, when the agent is built, what it is part of. */
  install?(agent: AgentComposition): void;
  /** Makes a section of the system prompt, or none. Keep it the same from step to step: providers cache it. */
  system?(scope: CallScope): string | undefined | Promise<string | undefined>;
  /** Messages for the end of this step's view. They enter neither state nor log. */
  remind?(scope: CallScope): readonly Message[] | Promise<readonly Message[]>;
  /**
   * Chooses the tools that the model is offered in this step, in the order given. Return the same list for the same choice:
   * it is cached.
   */
  offerTools?(tools: readonly ToolDefinition[], scope: CallScope): readonly ToolDefinition[];
  /**
   * Around a whole call, from the input to the reply. It must call `next`, or throw, as a {@link StopCallError}; the call fails with the
   * error of `next`, also where it is caught.
   */
  aroundCall?(scope: CallScope, next: () => Promise<void>): Promise<void>;
  /** Around one reasoning step: may change `scope.state.context` before `next` assembles the view from it. */
  aroundReason?(scope: ReasonScope, next: () => Promise<ModelResponse>): Promise<ModelResponse>;
  /** Around one model request, with the view as it will be sent. */
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
  /** Tells that nobody can be asked in this call: a question, whoever's, denies. */
  unattended?(scope: CallScope): boolean | Promise<boolean>;
  /** Refuses files of the workspace in the call: to tools, and to capabilities that show the model what they read. */
  confine?(scope: CallScope): WorkspaceConfine | undefined;
  /** Names the files that it refuses by rules, for tools that keep what they run from these files. */
  deniesFiles?(scope: CallScope): readonly FileRule[] | Promise<readonly FileRule[]>;
  /** Around one tool call that may run. */
  aroundTool?(
    call: ToolUseBlock,
    scope: ToolScope,
    next: (call: ToolUseBlock) => Promise<ToolResultBlock>,
  ): Promise<ToolResultBlock>;
  /** Computes what a model call cost, where it knows the model's price. */
  priceOf?(modelId: string, usage: Usage): number | undefined;
  /** Observes every event of the agent's calls. Its first error in a call becomes an event `warning`; the others are ignored. */
  observe?(event: AgentEventBody, scope: CallScope): void;
  /**
   * Observes what happens around the agent's calls, for metrics: the wait for a place and for the turn, requests to the store, calls that are
   * refused and have no events therefore. Its errors cost a process warning.
   */
  monitor?(activity: AgentActivity): void;
  /**
   * These messages are about to leave the context for good: what is worth keeping must be taken now. It delays the
   * reduction, so leave long work to `scope.background`.
   */
  beforeReduction?(removed: readonly Message[], scope: CallScope): void | Promise<void>;
  /** Reduces the context on demand: what `agent.compact()` runs. */
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
  /** Lets go of a pin. Returns whether there was one. */
  unpin?(scope: ReasonScope, id: string): Promise<boolean>;
  /** Deletes what the capability keeps of a user outside of the agent's storage, and what it is about to write there. */
  erase?(user: UserScope): Promise<void>;
  /**
   * Releases what the capability opened.
   *
   * @param options `drainMs`: milliseconds that work which it has under way may still take.
   */
  close?(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}
