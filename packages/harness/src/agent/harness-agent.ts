import { randomUUID } from 'node:crypto';
import {
  type AgentEvent,
  AgentState,
  CapabilityError,
  type CompactionOutcome,
  type Message,
  openSession,
  RuntimeContext,
  SessionKey,
  type SessionLog,
  type SessionTurn,
  takeTurn,
  type Workspace,
} from '@x/core';
import { HarnessError, sessionBusy } from '../errors/harness-error.js';
import { Interruption } from '../errors/interruption.js';
import { BackgroundQueue } from '../lib/background-queue.js';
import { EventChannel } from '../lib/event-channel.js';
import { KeyedMutex } from '../lib/keyed-mutex.js';
import { refuseNothingToResume, runCall } from '../loop/run-call.js';
import { RunningCall } from '../loop/running-call.js';
import { Steering } from '../loop/steering.js';
import type { RequestedOutput } from '../output/requested-output.js';
import { type AgentParts, composedOf } from './agent-parts.js';
import {
  type CallInput,
  type CallOptions,
  checkContext,
  type OutputOptions,
  type OutputReply,
  parseDecisions,
  type Reply,
  requestedOutput,
  toMessages,
} from './call-options.js';
import { HarnessAgentBuilder } from './harness-agent-builder.js';
import { OpenLogs } from './open-logs.js';
import { ToolList } from './tool-list.js';

/**
 * An agent: a model, tools and capabilities around the loop "reason, act, repeat". Stateless between calls: each call
 * loads its session, and stores it. Build one with {@link HarnessAgent.builder}.
 */
export class HarnessAgent {
  readonly name: string;
  /** Where its files and logs live. */
  readonly workspace: Workspace;
  /** The names of its capabilities, the outermost first. */
  readonly capabilities: readonly string[];
  readonly #parts: AgentParts;
  readonly #tools: ToolList;
  readonly #turns = new KeyedMutex();
  readonly #background = new BackgroundQueue();
  readonly #logs: OpenLogs;
  /** Calls that run, or wait for their session's turn: these have no state yet. */
  readonly #running = new Map<
    string,
    {
      readonly abort: AbortController;
      readonly steering: Steering;
      readonly state?: AgentState | undefined;
    }
  >();
  #closing: Promise<void> | undefined;

  /** @internal Use {@link HarnessAgent.builder}. */
  constructor(parts: AgentParts) {
    this.name = parts.settings.name;
    this.workspace = parts.workspace;
    this.#parts = parts;
    this.#logs = new OpenLogs(parts.workspace);
    this.#tools = new ToolList(parts.tools, parts.capabilities);
    this.capabilities = parts.capabilities.map(({ name }) => name);
    const composition = composedOf(parts);
    for (const capability of parts.capabilities) capability.install?.(composition);
  }

  static builder(): HarnessAgentBuilder<HarnessAgent> {
    return new HarnessAgentBuilder((parts) => new HarnessAgent(parts));
  }

  /**
   * Says something to the agent and waits for its reply. Without a session id in `context` a new session is begun; its
   * id is in the reply. Calls to one session run one after the other, in this process and, where the session store has
   * leases, in all that share it.
   *
   * @throws {SessionConflictError} when another process stored the session meanwhile.
   * @throws {SessionLeaseError} `lease_unavailable` when the session's turn could not be had; `lease_lost` when another
   * process took it, because this one was silent for too long: nothing was stored since.
   * @throws {ContextOverflowError} when the request does not fit and nothing could make it fit.
   * @throws {OutputError} when the model gave no answer of the form that `output` asks for, however often it was told.
   * @throws {InvalidInputError} for an `output` that cannot be told to a model.
   * @throws {HarnessError} `agent_closed`.
   */
  call<Output>(
    input: CallInput,
    context: RuntimeContext | undefined,
    options: OutputOptions<Output>,
  ): Promise<OutputReply<Output>>;
  call(input: CallInput, context?: RuntimeContext, options?: CallOptions): Promise<Reply>;
  async call(input: CallInput, context?: RuntimeContext, options: CallOptions = {}): Promise<Reply> {
    return this.#run(toMessages(input), context, options);
  }

  /** Like {@link HarnessAgent.call}, as events. Leaving the loop early interrupts the call; what it did is stored. */
  stream(
    input: CallInput,
    context?: RuntimeContext,
    options?: CallOptions,
  ): AsyncGenerator<AgentEvent, void> {
    return this.#stream(toMessages(input), context, options);
  }

  /**
   * Goes on where a call stopped: after a crash, a shutdown, an error or a limit, or to have a human's `decisions` on
   * tool calls carried out. Calls that were left without a result are closed with an error result, which the model reads.
   *
   * @throws {HarnessError} `not_pending` for a decision on a call that does not wait for one.
   * @throws {HarnessError} `nothing_to_resume` when the session does not exist or ended in an orderly way.
   */
  resume<Output>(context: RuntimeContext, options: OutputOptions<Output>): Promise<OutputReply<Output>>;
  resume(context: RuntimeContext, options?: CallOptions): Promise<Reply>;
  async resume(context: RuntimeContext, options: CallOptions = {}): Promise<Reply> {
    return this.#run([], context, options);
  }

  /** Like {@link HarnessAgent.resume}, as events. */
  resumeStream(context: RuntimeContext, options?: CallOptions): AsyncGenerator<AgentEvent, void> {
    return this.#stream([], context, options);
  }

  /**
   * Compacts the session now.
   *
   * @throws {CapabilityError} without a capability that can.
   */
  async compact(
    context: RuntimeContext,
    options: { readonly instructions?: string; readonly signal?: AbortSignal } = {},
  ): Promise<CompactionOutcome> {
    const capability = this.#parts.capabilities.find((candidate) => candidate.compact !== undefined);
    if (capability?.compact === undefined) {
      throw new CapabilityError('compact', 'No capability can compact: add compaction() with .use().');
    }
    const compact = capability.compact.bind(capability);
    return this.#exclusively(context, { ...options, output: undefined }, undefined, async (call) => {
      const outcome = await compact(await call.reasonScope(), { instructions: options.instructions });
      await call.save();
      return outcome;
    });
  }

  /**
   * Restores the conversation from before the last compaction; what was said since stays behind it. Whether there was
   * one that could be undone.
   *
   * @throws {CapabilityError} without a capability that can.
   */
  async undo(context: RuntimeContext, options: CallOptions = {}): Promise<boolean> {
    const capability = this.#parts.capabilities.find((candidate) => candidate.undo !== undefined);
    if (capability?.undo === undefined) {
      throw new CapabilityError('undo', 'No capability can undo a compaction: add compaction() with .use().');
    }
    const undo = capability.undo.bind(capability);
    return this.#exclusively(context, { ...options, output: undefined }, undefined, async (call) => {
      const undone = await undo(await call.reasonScope());
      if (undone) await call.save();
      return undone;
    });
  }

  /** The session's state: live while a call runs, else as it is stored; `undefined` when there is none. */
  async state(context: RuntimeContext): Promise<AgentState | undefined> {
    const { key } = this.#identify(context);
    const live = this.#running.get(key.toString());
    if (live?.state) return live.state;
    const session = await openSession(this.#parts.session, key);
    return session.version === 0 ? undefined : session.state;
  }

  /**
   * Changes a session's state between its calls, for example its permission mode, its todos or plan mode:
   * `agent.updateState(context, (state) => { state.permissionContext = { ...state.permissionContext, mode: 'explore' }; })`.
   * Begins the session when there is none.
   *
   * @throws {InvalidInputError} naming the path of what is no valid state; nothing is stored then.
   */
  updateState(context: RuntimeContext, change: (state: AgentState) => void): Promise<AgentState> {
    return this.#exclusively(context, { output: undefined }, undefined, async (call) => {
      const { state } = call.scope;
      change(state);
      AgentState.fromJSON(state.toJSON());
      await call.save();
      return state;
    });
  }

  /** The session's log: every message that ever was. */
  log(context: RuntimeContext): SessionLog {
    return this.#logs.of(this.#identify(context).key);
  }

  /** Stops the running call of this session, at any point; it replies with `interrupted`. Whether there was one. */
  interrupt(context: RuntimeContext): boolean {
    const running = this.#running.get(this.#identify(context).key.toString());
    running?.abort.abort(new Interruption('interrupted'));
    return running !== undefined;
  }

  /**
   * Says something to the running call of this session, here in this process: the model reads it at its next step,
   * behind the results of the tools that run now, and answers it before the call ends. Whether it was read: resolves
   * with true once it has entered the conversation, and with false when no call runs, or it ended first; then say it
   * with {@link HarnessAgent.call}. Either way it is in the conversation once or not at all.
   */
  async steer(context: RuntimeContext, input: CallInput): Promise<boolean> {
    const running = this.#running.get(this.#identify(context).key.toString());
    return (await running?.steering.send(toMessages(input))) ?? false;
  }

  /**
   * Refuses new calls, stops running ones where they can be resumed (`shutdown`), waits for background work and closes
   * the capabilities. The session store and its client stay open: they are the user's.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const { abort } of this.#running.values()) abort.abort(new Interruption('shutdown'));
    await this.#turns.idle();
    await this.#background.drain();
    for (const capability of this.#parts.capabilities) await capability.close?.();
  }

  #run(
    input: readonly Message[],
    context: RuntimeContext | undefined,
    options: CallOptions,
    listener?: (event: AgentEvent) => void,
  ): Promise<Reply> {
    const output = requestedOutput(options, new Set(this.#tools.current().byName.keys()));
    const { signal } = options;
    const decisions = parseDecisions(options.decisions ?? {});
    const asked = { ...(signal === undefined ? {} : { signal }), output };
    return this.#exclusively(context ?? RuntimeContext.empty(), asked, listener, (call, isNew) => {
      if (input.length === 0) refuseNothingToResume(call.scope.state, isNew);
      return runCall(call, {
        input,
        decisions,
        streaming: listener !== undefined,
        tools: this.#tools.current().byName,
      });
    });
  }

  async *#stream(
    input: readonly Message[],
    context: RuntimeContext | undefined,
    options: CallOptions = {},
  ): AsyncGenerator<AgentEvent, void> {
    const channel = new EventChannel();
    const abandoned = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, abandoned.signal]) : abandoned.signal;
    const running = this.#run(input, context, { ...options, signal }, (event) => channel.push(event)).then(
      () => channel.end(),
      (cause: unknown) => channel.end({ cause }),
    );
    try {
      yield* channel.read();
    } finally {
      abandoned.abort();
      await running;
    }
  }

  /** Takes the session's turn, opens it and runs `task`. */
  async #exclusively<Result>(
    context: RuntimeContext,
    options: { readonly signal?: AbortSignal; readonly output?: RequestedOutput | undefined },
    listener: ((event: AgentEvent) => void) | undefined,
    task: (call: RunningCall, isNew: boolean) => Promise<Result>,
  ): Promise<Result> {
    this.#refuseClosed();
    const { key, runtime } = this.#identify(context);
    const id = key.toString();
    if (this.#parts.settings.turns === 'reject' && this.#turns.isBusy(id)) throw sessionBusy(key);
    return this.#turns.run(id, async () => {
      this.#refuseClosed();
      const abort = new AbortController();
      const onAbort = () => abort.abort(new Interruption('interrupted'));
      if (options.signal?.aborted) onAbort();
      else options.signal?.addEventListener('abort', onAbort, { once: true });
      const steering = new Steering();
      this.#running.set(id, { abort, steering });
      let turn: SessionTurn | undefined;
      try {
        turn = await this.#takeTurn(key, abort.signal);
        const { lost } = turn;
        lost.addEventListener('abort', () => abort.abort(lost.reason), { once: true });
        const { output } = options;
        const call = await this.#open(key, runtime, {
          turn,
          signal: abort.signal,
          listener,
          steering,
          output,
        });
        this.#running.set(id, { abort, steering, state: call.scope.state });
        return await task(call, call.options.session.version === 0);
      } finally {
        this.#running.delete(id);
        steering.close();
        options.signal?.removeEventListener('abort', onAbort);
        await turn?.release();
      }
    });
  }

  async #takeTurn(key: SessionKey, signal: AbortSignal): Promise<SessionTurn> {
    const { turns, turnTimeoutMs, leaseTtlMs } = this.#parts.settings;
    const options = { turns, timeoutMs: turnTimeoutMs, ttlMs: leaseTtlMs };
    try {
      // An interruption before the turn began has nothing to wait for, and yet is stored as what was said.
      return await takeTurn(this.#parts.session, key, signal.aborted ? options : { ...options, signal });
    } catch (error) {
      if (error === signal.reason) this.#refuseClosed();
      throw error;
    }
  }

  async #open(
    key: SessionKey,
    runtime: RuntimeContext,
    options: {
      readonly turn: SessionTurn;
      readonly signal: AbortSignal;
      readonly listener: ((event: AgentEvent) => void) | undefined;
      readonly steering: Steering;
      readonly output: RequestedOutput | undefined;
    },
  ): Promise<RunningCall> {
    const unstored: Message[] = [];
    const session = await openSession(this.#parts.session, key, {
      onConflict: this.#parts.settings.onConflict,
      fence: options.turn.fence,
      added: () => unstored,
      merged: () => call.emit({ type: 'session.merged' }),
    });
    const call: RunningCall = new RunningCall({
      parts: this.#parts,
      toolDefinitions: this.#tools.current().definitions,
      session,
      unstored,
      log: this.#logs.of(key),
      runtime,
      callId: randomUUID(),
      signal: options.signal,
      background: this.#background,
      steering: options.steering,
      output: options.output,
      emit: (event) => this.#emit(event, options.listener),
    });
    return call;
  }

  #emit(event: AgentEvent, listener: ((event: AgentEvent) => void) | undefined): void {
    listener?.(event);
    for (const observer of this.#parts.listeners) {
      try {
        observer(event);
      } catch (error) {
        // An observer must not be able to break what it observes.
        process.emitWarning(`A listener of agent "${this.name}" threw: ${String(error)}`);
      }
    }
  }

  #identify(context: RuntimeContext): { readonly key: SessionKey; readonly runtime: RuntimeContext } {
    checkContext(context);
    const runtime =
      context.sessionId === undefined
        ? RuntimeContext.builder(context).sessionId(randomUUID()).build()
        : context;
    const { tenantId, userId, sessionId = '' } = runtime;
    return { key: SessionKey.of({ tenantId, userId, agentId: this.name, sessionId }), runtime };
  }

  #refuseClosed(): void {
    if (this.#closing) {
      throw new HarnessError(
        'agent_closed',
        `Agent "${this.name}" is closed or shutting down and takes no more calls. Nothing was stored; call another instance.`,
      );
    }
  }
}
