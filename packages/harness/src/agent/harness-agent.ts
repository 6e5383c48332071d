import {
  type AgentEvent,
  AgentState,
  type Capability,
  CapabilityError,
  type CompactionOutcome,
  type CompactOptions,
  eraseUser,
  exportUser,
  InvalidInputError,
  type Message,
  openSession,
  type Pin,
  type PinRequest,
  type ReasonScope,
  type Receipt,
  RuntimeContext,
  type SessionKey,
  type SessionLog,
  type SessionStore,
  TimeLimitError,
  type Workspace,
} from '@x/core';
import {
  describeContent,
  type ErasedUser,
  fromClient,
  type PermissionContext,
  parseWith,
  type UserRecord,
  type UserScope,
  withinLimit,
} from '@x/core/internal';
import { setAside } from '@x/core/messages';
import * as z from 'zod';
import { Interruption } from '../errors/interruption.js';
import { EventJournal } from '../lib/event-journal.js';
import { runEach } from '../lib/run-each.js';
import { refuseUnknown } from '../loop/approvals.js';
import { callControl } from '../loop/control.js';
import { reasonScope } from '../loop/reason-scope.js';
import { setAsideOf } from '../loop/refused-content.js';
import { repeatOf } from '../loop/repeats.js';
import { refuseNothingToResume, runCall } from '../loop/run-call.js';
import type { RunningCall } from '../loop/running-call.js';
import { type AgentParts, composedOf } from './agent-parts.js';
import {
  type CallInput,
  type CallOptions,
  checkOptions,
  cursorSchema,
  type EventCursor,
  firstOf,
  givenTo,
  type OutputOptions,
  type OutputReply,
  parseDecisions,
  type Reply,
  replyOf,
  requestedOutput,
  toMessages,
} from './call-options.js';
import { type CallStream, callStream } from './call-stream.js';
import { HarnessAgentBuilder } from './harness-agent-builder.js';
import { type Readiness, SessionTurns } from './session-turns.js';
import { ToolList } from './tool-list.js';

/** Milliseconds that running steps may take when the agent closes. Orchestrators kill a process 30 s after they ask it to stop. */
const DRAIN_MS = 25_000;
const drainSchema = z.number().min(0).or(z.literal(Number.POSITIVE_INFINITY));

/** Commands on a session's context that a capability carries out. */
type Command = 'compact' | 'undo' | 'pin' | 'unpin' | 'explain';

/** Options of {@link HarnessAgent.close}. */
export interface CloseOptions {
  /** Milliseconds that running steps may take before they are stopped. Default 25 000; 0 stops them at once. */
  readonly drainMs?: number | undefined;
}

/**
 * An agent: a model, tools and capabilities around the loop "reason, act, repeat". It keeps no state between calls: each call
 * loads its session and stores it. {@link HarnessAgent.builder} makes an agent.
 *
 * @example
 * ```ts
 * import { type Model, RuntimeContext } from '@x/core';
 * import { HarnessAgent, todoList, workspaceTools } from '@x/harness';
 *
 * export async function ask(model: Model, question: string): Promise<string> {
 *   const agent = HarnessAgent.builder().model(model).use(todoList(), workspaceTools()).build();
 *   const reply = await agent.call(question, RuntimeContext.of({ userId: 'alice', sessionId: 's-001' }));
 *   await agent.close();
 *   return reply.text;
 * }
 * ```
 */
export class HarnessAgent {
  /** The agent's id, part of every session's key. */
  readonly name: string;
  /** The files of all its users. */
  readonly workspace: Workspace;
  /** The agent's own files of all users: sessions, logs, tasks, memory, evicted results, plans. */
  readonly storage: Workspace;
  /** The session store. Each request is limited by `limits.storeMs`. */
  readonly session: SessionStore;
  /** The names of its capabilities, the outermost first. */
  readonly capabilities: readonly string[];
  readonly #parts: AgentParts;
  readonly #tools: ToolList;
  readonly #turns: SessionTurns;
  #closing: Promise<void> | undefined;

  /** @internal Use {@link HarnessAgent.builder}. */
  constructor(parts: AgentParts) {
    this.name = parts.settings.name;
    this.workspace = parts.workspace;
    this.storage = parts.storage;
    this.session = parts.session;
    this.#parts = parts;
    this.#tools = new ToolList(parts.tools, parts.capabilities, parts.keeps);
    this.#turns = new SessionTurns(parts, this.#tools);
    this.capabilities = parts.capabilities.map(({ name }) => name);
    const composition = composedOf(parts);
    for (const capability of parts.capabilities) capability.install?.(composition);
  }

  /** Returns a builder for an agent. */
  static builder(): HarnessAgentBuilder<HarnessAgent> {
    return new HarnessAgentBuilder((parts) => new HarnessAgent(parts));
  }

  /**
   * Sends a message and waits for the reply. Without a session id in `context`, the call starts a new session, whose id is in the
   * reply. Calls to one session run one after the other: in this process, and in all processes that share a session store with
   * leases.
   *
   * @throws {SessionConflictError} if another process stored the session meanwhile.
   * @throws {SessionLeaseError} `lease_unavailable` if another call holds the session for longer than `limits.queueMs`, or at all with
   * `turns: 'reject'`; `lease_lost` if another process took over the session. Nothing was stored after that.
   * @throws {ContextOverflowError} if the request does not fit the window, and nothing more can be removed.
   * @throws {OutputError} if the model gave no valid answer for the schema in `output`.
   * @throws {InvalidInputError} if `output` cannot be converted to JSON Schema, or does not describe an object.
   * @throws {HarnessError} `overloaded` with `retryAfterMs` if too many calls run and wait; `agent_closed`; `call_forgotten` if the session
   * already has a message with this id, but no known call sent it.
   */
  call<Output>(
    input: CallInput,
    context: RuntimeContext | undefined,
    options: OutputOptions<Output>,
  ): Promise<OutputReply<Output>>;
  /** Sends a message and waits for the reply. For the session and the errors, see the overload with `output`. */
  call(input: CallInput, context?: RuntimeContext, options?: CallOptions): Promise<Reply>;
  async call(input: CallInput, context?: RuntimeContext, options: CallOptions = {}): Promise<Reply> {
    const given = givenTo(input, options);
    return this.#run(given.messages, context, given.options);
  }

  /**
   * Does what {@link HarnessAgent.call} does, and yields the events of the call. Returns the reply at the end, which the `reply` promise
   * also resolves to. If you leave the loop early, the call is interrupted and its work so far is stored. A slow loop slows the call down.
   *
   * @example
   * ```ts
   * import type { HarnessAgent } from '@x/harness';
   *
   * export async function print(agent: HarnessAgent, question: string): Promise<void> {
   *   for await (const event of agent.stream(question)) {
   *     if (event.type === 'text.delta') process.stdout.write(event.text);
   *     if (event.type === 'draft.discarded') console.log('\n[Discarded: the model starts again.]');
   *   }
   * }
   * ```
   */
  stream(input: CallInput, context?: RuntimeContext, options?: CallOptions): CallStream {
    // Copy the input now, because the caller may change it later. Throw errors in the stream, so that a server's reader receives them.
    const given = attempt(() => givenTo(input, options));
    return callStream((events, abandoned) => {
      if ('cause' in given) return events.endWith(Promise.reject(given.cause));
      const { messages, options } = given.result;
      return this.#run(messages, context, options, events, abandoned);
    });
  }

  /**
   * Continues a call that stopped after a crash, a shutdown, an error or a limit, or applies `decisions` to pending tool calls. Tool calls
   * without a result get an error result, which the model reads.
   *
   * @example
   * ```ts
   * import type { RuntimeContext } from '@x/core';
   * import { type HarnessAgent, pendingCalls } from '@x/harness';
   *
   * export async function approveAll(agent: HarnessAgent, session: RuntimeContext) {
   *   const calls = pendingCalls(await agent.state(session));
   *   const decisions = Object.fromEntries(calls.map(({ approvalId }) => [approvalId, { type: 'approve' as const }]));
   *   return agent.resume(session, { decisions });
   * }
   * ```
   *
   * @throws {HarnessError} `not_pending` for a decision on a call that does not wait for one.
   * @throws {HarnessError} `nothing_to_resume` if the session does not exist, if its last call is complete, or if this call was interrupted
   * or timed out in the middle of an answer. Send a message then.
   */
  resume<Output>(context: RuntimeContext, options: OutputOptions<Output>): Promise<OutputReply<Output>>;
  /** Continues a call that stopped, or applies `decisions` to pending tool calls. For the errors, see the overload with `output`. */
  resume(context: RuntimeContext, options?: CallOptions): Promise<Reply>;
  async resume(context: RuntimeContext, options: CallOptions = {}): Promise<Reply> {
    return this.#run([], context, options);
  }

  /** Does what {@link HarnessAgent.resume} does, and yields its events. */
  resumeStream(context: RuntimeContext, options: CallOptions = {}): CallStream {
    return callStream((events, abandoned) => this.#run([], context, options, events, abandoned));
  }

  /**
   * Compacts the session now. Does not create a session.
   *
   * @throws {CapabilityError} if no capability can compact.
   */
  async compact(
    context: RuntimeContext,
    { signal, ...options }: Pick<CompactOptions, 'instructions' | 'upTo' | 'signal'> = {},
  ): Promise<CompactionOutcome> {
    return this.#command('compact', context, signal, (capability, scope) =>
      capability.compact?.(scope, options),
    );
  }

  /**
   * Keeps a message's text, or your own text, verbatim through every compaction. The model sees it from its next step on.
   *
   * @throws {InvalidInputError} if the session has no such message, or if all pins together would be too large for the window.
   * @throws {CapabilityError} if no capability can pin.
   */
  async pin(context: RuntimeContext, what: PinRequest): Promise<Pin> {
    return this.#command('pin', context, undefined, (capability, scope) => capability.pin?.(scope, what));
  }

  /** Removes a pin by its id. Returns whether it existed. */
  async unpin(context: RuntimeContext, id: string): Promise<boolean> {
    return this.#command('unpin', context, undefined, (capability, scope) => capability.unpin?.(scope, id));
  }

  /**
   * Restores the conversation from before the last compaction, followed by later messages. Returns whether there was a compaction to undo.
   *
   * @throws {CapabilityError} if no capability can undo.
   */
  async undo(context: RuntimeContext, options: CallOptions = {}): Promise<boolean> {
    return this.#command('undo', context, options.signal, (capability, scope) => capability.undo?.(scope));
  }

  /**
   * Lists the content that compactions removed from the model's view of a session, most important first, with their savings and cost.
   * Returns `undefined` if the session does not exist.
   *
   * @throws {CapabilityError} if no capability can explain.
   */
  async explain(context: RuntimeContext): Promise<Receipt | undefined> {
    const capability = this.#capable('explain');
    const state = await this.state(context);
    return state && capability.explain?.({ state, log: this.log(context) });
  }

  #capable(name: Command): Capability {
    const capability = this.#parts.capabilities.find((candidate) => candidate[name] !== undefined);
    if (capability !== undefined) return capability;
    throw new CapabilityError(name, `No capability can ${name}: add compaction() with .use().`);
  }

  async #command<Result>(
    name: Command,
    context: RuntimeContext,
    signal: AbortSignal | undefined,
    run: (capability: Capability, scope: ReasonScope) => Promise<Result> | undefined,
  ): Promise<Result> {
    const capability = this.#capable(name);
    return this.#turns.take(context, { signal }, async (call, isNew) => {
      const scope = await reasonScope(call);
      const result = await call.waitFor(`${name} of "${capability.name}"`, () => run(capability, scope));
      // A pin creates a session. Other commands do not store a session that does not exist.
      if (!isNew || name === 'pin') await call.save();
      return result as Result;
    });
  }

  /**
   * Replaces a message, such as one that a provider rejects or that the model should not see, with one line that describes it. The log keeps
   * the message. If a provider rejects a request, the agent does this automatically.
   *
   * @throws {InvalidInputError} if the session has no such message, or the message is empty.
   */
  async setAside(context: RuntimeContext, messageId: string): Promise<void> {
    await this.#replace(context, messageId, async (message, call) => {
      const after = setAside(message, 'all');
      const what = describeContent(setAsideOf(message, after));
      if (after !== message) call.emit({ type: 'message.set_aside', messageId, what });
      return after;
    });
  }

  /**
   * Restores, from the log, a message that was set aside.
   *
   * @throws {InvalidInputError} if the session or its log has no such message.
   */
  async restoreMessage(context: RuntimeContext, messageId: string): Promise<void> {
    await this.#replace(context, messageId, async (_, call) => {
      const logged = await call.logged(messageId);
      call.emit({ type: 'state.changed' });
      return logged;
    });
  }

  #replace(
    context: RuntimeContext,
    messageId: string,
    change: (message: Message, call: RunningCall) => Promise<Message | undefined>,
  ): Promise<void> {
    return this.#turns.take(context, {}, async (call) => {
      const messages = call.scope.state.contextMutable();
      const at = messages.findIndex(({ id }) => id === messageId);
      const [message] = messages.slice(at, at + 1);
      const changed = at === -1 || message === undefined ? undefined : await change(message, call);
      if (changed === undefined) {
        const issue = `${JSON.stringify(messageId)} is not a message of this session; agent.state() lists them`;
        throw new InvalidInputError('messageId', [{ path: '', message: issue }]);
      }
      messages[at] = changed;
      await call.save();
    });
  }

  /** Returns the key under which the agent stores the session of a context; a new key if the context names no session. */
  keyOf(context: RuntimeContext): SessionKey {
    return this.#turns.keyOf(context);
  }

  /** Returns the session's state: the live state while a call runs, otherwise the stored one. `undefined` if there is no session. */
  async state(context: RuntimeContext): Promise<AgentState | undefined> {
    const { call } = this.#turns.running(context) ?? {};
    if (call) return call.scope.state;
    const session = await openSession(this.#parts.session, this.#turns.keyOf(context));
    return session.version === 0 ? undefined : session.state;
  }

  /**
   * Changes a session's state between its calls, for example its permission mode, its todos or plan mode:
   * `agent.updateState(context, (state) => { state.permissionContext = { ...state.permissionContext, mode: 'explore' }; })`.
   * Creates the session if there is none.
   *
   * @throws {InvalidInputError} with the path of an invalid value. Nothing is stored then.
   */
  updateState(context: RuntimeContext, change: (state: AgentState) => void): Promise<AgentState> {
    return this.#turns.take(context, {}, async (call) => {
      const { state } = call.scope;
      call.change(change);
      AgentState.fromJSON(state.toJSON());
      await call.save();
      call.emit({ type: 'state.changed' });
      return state;
    });
  }

  /**
   * Reads the events of the session's running call in this process: all that are kept (about the last 1 000), or those after the event
   * `after`, for a reader that lost the connection. Leaving the loop does not stop the call. Returns `undefined` if no call
   * runs: use {@link HarnessAgent.state} then.
   *
   * With `live`, also yields the events of every later call and command, such as {@link HarnessAgent.compact}, in this process until the
   * reader leaves or `signal` fires. It yields every event that is emitted after `follow` returns.
   *
   * @example
   * ```ts
   * import type { RuntimeContext } from '@x/core';
   * import { type HarnessAgent, serverSentEvents } from '@x/harness';
   *
   * export const events = (agent: HarnessAgent, session: RuntimeContext): Promise<Response> =>
   *   serverSentEvents(agent.follow(session, { live: true }));
   * ```
   * @throws {InvalidInputError} if `after` is neither an event nor the id of a server-sent event.
   * @throws {HarnessError} `events_gone` while reading, if later events are no longer kept or `after` belongs to another call.
   */
  follow(
    context: RuntimeContext,
    options: {
      readonly live: true;
      readonly after?: EventCursor | undefined;
      readonly signal?: AbortSignal | undefined;
    },
  ): AsyncGenerator<AgentEvent, undefined>;
  /** Reads the events of the session's running call in this process. Returns `undefined` if no call runs. See the overload with `live`. */
  follow(
    context: RuntimeContext,
    options?: { readonly after?: EventCursor | undefined },
  ): AsyncGenerator<AgentEvent, Reply> | undefined;
  follow(
    context: RuntimeContext,
    options: {
      readonly live?: true;
      readonly after?: EventCursor | undefined;
      readonly signal?: AbortSignal | undefined;
    } = {},
  ): AsyncGenerator<AgentEvent, Reply | undefined> | undefined {
    const after = fromClient(() => parseWith(cursorSchema, options.after, 'cursor of follow()'));
    if (options.live) return this.#turns.follow(context, { after, signal: options.signal });
    return this.#turns.running(context)?.events.read(after);
  }

  /**
   * Sets and stores the session's permission mode. If a call runs in this process, the mode applies at once to tool calls that are not yet
   * authorized. {@link HarnessAgent.updateState} waits for the end of the call instead.
   * @throws {InvalidInputError} if there is no such mode.
   */
  async setPermissionMode(context: RuntimeContext, mode: PermissionContext['mode']): Promise<void> {
    callControl({ permissionMode: mode }, new Set());
    const set = (state: AgentState) => {
      state.permissionContext = { ...state.permissionContext, mode };
    };
    const { call } = this.#turns.running(context) ?? {};
    if (call === undefined) return void (await this.updateState(context, set));
    set(call.scope.state);
    await call.save();
    call.emit({ type: 'state.changed' });
  }

  /** Opens the files that the tools of a session can use. */
  files(context: RuntimeContext): Workspace {
    return this.#turns.files(context);
  }

  /** Opens the session's log, which keeps every message. */
  log(context: RuntimeContext): SessionLog {
    return this.#turns.log(context);
  }

  /**
   * Deletes all data of a user: sessions and logs of all agents on this store and workspace, evicted results, plans, tasks, memory with its
   * index, and the user's own files. This cannot be undone.
   *
   * @throws {InvalidInputError} if the scope names no user.
   * @throws {SessionLeaseError} `lease_unavailable` while a call of the user runs in this process. Sessions that run in another process,
   * and background tasks of subagents, are kept and reported as `busy`: call `eraseUser` again once they have ended.
   */
  async eraseUser(user: UserScope): Promise<ErasedUser> {
    await this.#turns.settle(user);
    const { hookMs } = this.#parts.settings.limits;
    let erased: ErasedUser | undefined;
    try {
      erased = await eraseUser(this.#parts, user);
      return erased;
    } finally {
      // Runs even if a deletion failed. A call that is running in another process needs the data of its capabilities, too.
      const isBusy = erased !== undefined && erased.busy.length > 0;
      await runEach(isBusy ? [] : this.#parts.capabilities, (one) =>
        withinLimit([`The erase hook of ${one.name}`, 'limits.hookMs', hookMs], async () =>
          one.erase?.(user),
        ),
      );
    }
  }

  /**
   * Yields everything that {@link HarnessAgent.eraseUser} would delete, except the memory index, which only duplicates the files. Waits for
   * the user's background work first.
   *
   * @throws {InvalidInputError} if the scope names no user.
   * @throws {SessionLeaseError} `lease_unavailable` while a call of the user runs in this process.
   */
  async *exportUser(user: UserScope): AsyncGenerator<UserRecord, void, undefined> {
    await this.#turns.settle(user);
    yield* exportUser(this.#parts, user);
  }

  /** Stops the session's running call, whose reply then has the stop reason `interrupted`. Returns whether a call was running. */
  interrupt(context: RuntimeContext): boolean {
    const running = this.#turns.running(context);
    running?.abort.abort(new Interruption('interrupted'));
    return running !== undefined;
  }

  /**
   * Stops the session's running call in whichever process runs it, within about a second. This requires a session store with leases. Also
   * stops calls that wait in this process. Resolves to `true` if a call was stopped.
   */
  async interruptAnywhere(context: RuntimeContext): Promise<boolean> {
    const hasTurn = this.#turns.running(context)?.call !== undefined;
    const isStopped = this.interrupt(context);
    if (hasTurn) return true;
    return (await this.#turns.control.send(this.#turns.keyOf(context), { type: 'interrupt' })) || isStopped;
  }

  /**
   * Adds a message to the session's running call, in any process. The model reads the message at its next step, after the results of the
   * tools that run now, and answers it before the call ends. If tool calls follow the message in `input`, they run first.
   *
   * Resolves with `true` once the message is in the conversation. If no call runs or the call ended first, resolves with `false` and changes
   * nothing: then use {@link HarnessAgent.call}.
   */
  async steer(context: RuntimeContext, input: CallInput): Promise<boolean> {
    const messages = toMessages(input);
    const running = this.#turns.running(context);
    if (running?.call !== undefined) return running.steering.send(messages);
    // If the call only waits here, the running call is in another process.
    const order = { type: 'steer', messages } as const;
    if (await this.#turns.control.send(this.#turns.keyOf(context), order)) return true;
    return running?.steering.send(messages) ?? false;
  }

  /**
   * Returns whether the agent accepts calls, and how many it has, for the readiness check of a load balancer.
   *
   * @example
   * ```ts
   * import type { HarnessAgent } from '@x/harness';
   *
   * export function ready(agent: HarnessAgent): Response {
   *   const readiness = agent.readiness();
   *   return Response.json(readiness, { status: readiness.isReady ? 200 : 503 });
   * }
   * ```
   */
  readiness(): Readiness {
    return this.#turns.readiness();
  }

  /**
   * Closes the agent. Rejects new and queued calls with `agent_closed`. A running call stops after its current step (model call and tools)
   * with the stop reason `shutdown`, and can be resumed. After `drainMs`, the step itself is stopped, and the results of stopped tools say
   * whether they may have taken effect.
   *
   * Then waits for background work and closes the capabilities, each for at most `limits.closeMs`. Work that takes longer is abandoned, with
   * a process warning. If a capability's `close` throws, the error is rethrown after the others are closed. The session store stays open. A
   * second call can shorten the wait.
   *
   * @param options `drainMs`: milliseconds that running steps may take. Default 25 000; 0 stops them at once.
   */
  close({ drainMs = DRAIN_MS }: CloseOptions = {}): Promise<void> {
    this.#turns.drain(parseWith(drainSchema, drainMs, 'drainMs'));
    this.#closing ??= this.#close(performance.now() + drainMs);
    return this.#closing;
  }

  async #close(drainsUntil: number): Promise<void> {
    await this.#turns.close();
    const { closeMs } = this.#parts.settings.limits;
    await runEach(this.#parts.capabilities, async (capability) => {
      const wait = [`The close hook of ${capability.name}`, 'limits.closeMs', closeMs] as const;
      const drainMs = Math.max(0, drainsUntil - performance.now());
      await withinLimit(wait, async () => capability.close?.({ drainMs })).catch((error: unknown) => {
        if (!TimeLimitError.isInstance(error)) throw error;
        process.emitWarning(error.message);
      });
    });
  }

  #run(
    input: readonly Message[],
    context: RuntimeContext | undefined,
    options: CallOptions,
    events = new EventJournal<Reply>(),
    abandoned?: AbortSignal,
  ): Promise<Reply> {
    checkOptions(options);
    const names = new Set(this.#tools.current().byName.keys());
    const output = requestedOutput(options, names);
    const decisions = parseDecisions(options.decisions ?? {});
    const control = callControl(options, output === undefined ? names : names.add(output.tool.name));
    const turn = { signal: firstOf(options.signal, abandoned), output, events, control };
    const { id } = options;
    let begun = false;
    const reply = this.#turns.take(context ?? RuntimeContext.empty(), turn, async (call, isNew) => {
      begun = true;
      const { earlier, unsaid } = await repeatOf(call, id, input);
      if (earlier !== undefined) {
        call.replay(earlier);
        return earlier;
      }
      // Checked first, so that a decision on a settled call does not add a message.
      refuseUnknown(call.scope.state, decisions);
      if (unsaid.length === 0) refuseNothingToResume(call.scope.state, isNew, input[0] && id);
      return runCall(call, {
        id,
        input: unsaid,
        decisions,
        streaming: abandoned !== undefined,
      });
    });
    const result = reply.catch((error: unknown) => {
      if (begun || !(error instanceof Interruption) || error.kind !== 'interrupted') throw error;
      return replyOf({ sessionId: context?.sessionId ?? '' });
    });
    return events.endWith(result);
  }
}

function attempt<Value>(task: () => Value): { readonly result: Value } | { readonly cause: unknown } {
  try {
    return { result: task() };
  } catch (cause) {
    return { cause };
  }
}
