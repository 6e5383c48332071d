import { randomUUID } from 'node:crypto';
import {
  type AgentEvent,
  type Message,
  observeStore,
  openSession,
  RuntimeContext,
  SessionKey,
  type SessionStore,
  TimeLimitError,
  type Workspace,
} from '@x/core';
import {
  type AgentActivityBody,
  agentFiles,
  errorText,
  KeyedMutex,
  notify,
  RecentMap,
  type SessionTurn,
  startTimer,
  type TakeTurnOptions,
  takeTurn,
  type UserScope,
  unlessAborted,
  withinLimit,
} from '@x/core/internal';
import { WorkspaceSessionLog } from '@x/core/node';
import { HarnessError, sessionBusy } from '../errors/harness-error.js';
import { Interruption } from '../errors/interruption.js';
import { BackgroundQueue } from '../lib/background-queue.js';
import { EventJournal } from '../lib/event-journal.js';
import { SessionCounters } from '../lib/session-counters.js';
import type { CallControl } from '../loop/control.js';
import { RunningCall } from '../loop/running-call.js';
import { Steering } from '../loop/steering.js';
import type { RequestedOutput } from '../output/requested-output.js';
import { type Report, reportOf } from './activity.js';
import { Admission, type Ticket } from './admission.js';
import { type AgentParts, FilesOwner } from './agent-parts.js';
import { StoreLimit } from './bounded-store.js';
import { checkContext, type Reply, replyOf } from './call-options.js';
import { followSession, type Subscribe } from './follow-session.js';
import { RemoteControl } from './remote-control.js';
import type { ToolList } from './tool-list.js';

/** A call that runs, or waits for the lease on its session. */
interface Running {
  readonly abort: AbortController;
  readonly steering: Steering;
  readonly events: EventJournal<Reply>;
  /** Limits the call's requests to the store and the log. */
  readonly storeLimit: StoreLimit;
  /** The session store, with the time limit of `storeLimit`. */
  readonly store: SessionStore;
  readonly call?: RunningCall | undefined;
}

interface TurnOptions {
  readonly signal?: AbortSignal | undefined;
  readonly output?: RequestedOutput | undefined;
  readonly events?: EventJournal<Reply> | undefined;
  readonly control?: CallControl | undefined;
}

type Task<Result> = (call: RunningCall, isNew: boolean) => Promise<Result>;

/** A call that waits for a slot or for its session. */
interface Waiting {
  readonly key: SessionKey;
  readonly runtime: RuntimeContext;
  readonly callId: string;
  readonly report: Report | undefined;
  readonly options: TurnOptions;
  /** Its slot or its position in the queue. `undefined` for a nested call, which uses the slot of its parent call. */
  ticket?: Ticket | undefined;
  stage: Extract<AgentActivityBody, { readonly type: 'call.ended' }>['stage'];
}

/**
 * Marks the work of a call that has a slot (one of `maxRunningCalls`). Calls that its tools make share this slot. If they waited for
 * another slot, they could deadlock.
 */
class Placed {}

/** Whether an agent accepts calls, and how many it has. */
export interface Readiness {
  /** Accepts calls: neither draining nor overloaded. For a load balancer. */
  readonly isReady: boolean;
  /** Running calls. */
  readonly running: number;
  /** Calls that wait for a slot or for their session. */
  readonly waiting: number;
  /** The agent is closing: it rejects new calls and waits for running ones. */
  readonly isDraining: boolean;
  /** All slots are taken and the queue is full. */
  readonly isOverloaded: boolean;
}

const MAX_OPEN_LOGS = 64;

/** Runs at most one call per session at a time. Calls of different sessions run concurrently. */
export class SessionTurns {
  /** Sends interrupts and messages to calls in other processes, and receives those for calls in this process. */
  readonly control: RemoteControl;
  readonly #parts: AgentParts;
  readonly #tools: ToolList;
  /** The most recently used logs. Each caches the ids of its messages. */
  readonly #logs = new RecentMap<string, WorkspaceSessionLog>(MAX_OPEN_LOGS);
  readonly #turns = new KeyedMutex();
  readonly #background: BackgroundQueue;
  readonly #compactionCounters = new SessionCounters('compaction');
  readonly #running = new Map<string, Running>();
  /** Followers of calls, by session. */
  readonly #followers = new Map<string, Set<Parameters<Subscribe>[0]>>();
  readonly #admission: Admission;
  /** Aborts when running calls must stop at once. */
  readonly #stopped = new AbortController();
  #isClosed = false;

  constructor(parts: AgentParts, tools: ToolList) {
    this.#parts = parts;
    this.#tools = tools;
    this.#background = new BackgroundQueue(parts.settings.limits);
    this.#admission = new Admission(parts.settings);
    this.control = new RemoteControl(parts.session);
  }

  /**
   * Returns the key of the context's session, or the key of a new session if the context names none.
   *
   * @throws {InvalidInputError} if the context is not a RuntimeContext.
   */
  keyOf(context: RuntimeContext): SessionKey {
    checkContext(context);
    const { tenantId, userId, sessionId = randomUUID() } = context;
    return SessionKey.of({ tenantId, userId, agentId: this.#parts.settings.name, sessionId });
  }

  /** Returns the running or waiting call of the session in this process. */
  running(context: RuntimeContext): Running | undefined {
    return this.#running.get(this.keyOf(context).toString());
  }

  /** Yields the events of the session's running call and of every later one, until the reader leaves. */
  follow(
    context: RuntimeContext,
    options: Parameters<typeof followSession>[1],
  ): AsyncGenerator<AgentEvent, undefined> {
    const id = this.keyOf(context).toString();
    return followSession(this.#running.get(id)?.events, options, (begin) => {
      const followers = this.#followers.get(id) ?? new Set();
      this.#followers.set(id, followers.add(begin));
      return () => {
        if (followers.delete(begin) && followers.size === 0) this.#followers.delete(id);
      };
    });
  }

  /** Opens the files that the tools of a session can use. */
  files(context: RuntimeContext): Workspace {
    const { workspace, storage, settings } = this.#parts;
    const key = context.get(FilesOwner)?.key ?? this.keyOf(context);
    return agentFiles(key, { workspace, storage, isolation: settings.isolation });
  }

  /**
   * Waits for background work of the user, and clears cached logs.
   *
   * @throws {SessionLeaseError} `lease_unavailable` while a call of the user runs here.
   */
  async settle({ tenantId, userId }: UserScope): Promise<void> {
    const isOwn = (id: string) => {
      const { parts } = SessionKey.parse(id);
      return parts.tenantId === tenantId && parts.userId === userId;
    };
    for (const id of this.#running.keys()) if (isOwn(id)) throw sessionBusy(SessionKey.parse(id));
    const { closeMs } = this.#parts.settings.limits;
    await withinLimit(['Background work', 'limits.closeMs', closeMs], () => this.#background.idle(isOwn));
    this.#logs.clear();
  }

  log(context: RuntimeContext): WorkspaceSessionLog {
    return this.#logOf(this.keyOf(context));
  }

  #logOf(key: SessionKey): WorkspaceSessionLog {
    const id = key.toString();
    const log = this.#logs.get(id) ?? new WorkspaceSessionLog(this.#parts.storage, key);
    this.#logs.set(id, log);
    return log;
  }

  /**
   * Acquires the lease on the session, opens the session and runs `task`. A context without a session id starts a new session.
   *
   * @throws {HarnessError} `agent_closed`, `overloaded`.
   * @throws {SessionLeaseError} `lease_unavailable` if another call holds the session for longer than `limits.queueMs`, or at all with
   * `turns: 'reject'`.
   */
  async take<Result>(context: RuntimeContext, options: TurnOptions, task: Task<Result>): Promise<Result> {
    checkContext(context);
    const runtime = RuntimeContext.builder(context)
      .sessionId(context.sessionId ?? randomUUID())
      .put(Placed, new Placed())
      .build();
    const key = this.keyOf(runtime);
    const { sessionId } = key.parts;
    const callId = randomUUID();
    const kind = options.events === undefined ? 'command' : 'call';
    const name = { agentId: this.#parts.settings.name, sessionId, callId, kind } as const;
    const report = reportOf(this.#parts.capabilities, name);
    const waiting: Waiting = { key, runtime, callId, report, options, stage: 'queued' };
    report?.({ type: 'call.queued' });
    let failure: { readonly error?: unknown } = {};
    try {
      return await this.#admit(waiting, context.get(Placed) !== undefined, task);
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      report?.({ type: 'call.ended', stage: waiting.stage, ...failure });
    }
  }

  /** Waits until no other call in this process uses the session, and until a slot is free. */
  async #admit<Result>(waiting: Waiting, isPlaced: boolean, task: Task<Result>): Promise<Result> {
    if (!isPlaced) this.#refuseClosed();
    const { key, options } = waiting;
    const id = key.toString();
    if (this.#parts.settings.turns === 'reject' && this.#turns.isBusy(id)) throw sessionBusy(key);
    if (this.#turns.isBusy(id)) notify('onWait', options.control?.onWait, undefined);
    if (!isPlaced) waiting.ticket = this.#admission.enter(key, !this.#turns.isBusy(id));
    const inTurn = () => {
      if (!isPlaced) this.#refuseClosed();
      return this.#runTurn(waiting, task);
    };
    try {
      return await this.#turns.run(id, inTurn, (before) => this.#place(waiting, before));
    } finally {
      waiting.ticket?.leave();
    }
  }

  /** Waits for a slot. A call can get one only once its session is free in this process. */
  async #place(waiting: Waiting, isFree: Promise<unknown>): Promise<void> {
    const { key, options, report, ticket } = waiting;
    const { queueMs } = { ...this.#parts.settings.limits, ...options.control?.limits };
    const queuedAt = performance.now();
    try {
      const wait = ['Waiting for the session', 'limits.queueMs', queueMs] as const;
      const isReady = isFree.then(() => ticket?.ready());
      await withinLimit(wait, () => ticket?.placed ?? isReady, options.signal);
    } catch (cause) {
      if (HarnessError.isInstance(cause)) throw cause;
      if (!TimeLimitError.isInstance(cause)) throw new Interruption('interrupted');
      throw ticket?.tooLong() ?? sessionBusy(key, cause);
    }
    waiting.stage = 'placed';
    report?.({ type: 'call.placed', waitedMs: performance.now() - queuedAt });
  }

  readiness(): Readiness {
    const { running, waiting, isFull: isOverloaded } = this.#admission;
    const isDraining = this.#isClosed;
    return { isReady: !isDraining && !isOverloaded, running, waiting, isDraining, isOverloaded };
  }

  /** Acquires the lease on the session, runs the task, and releases the lease. */
  async #runTurn<Result>(waiting: Waiting, task: Task<Result>): Promise<Result> {
    const { key, options, report } = waiting;
    const limits = { ...this.#parts.settings.limits, ...options.control?.limits };
    const id = key.toString();
    const abort = new AbortController();
    const onAbort = () => abort.abort(new Interruption('interrupted'));
    if (options.signal?.aborted) onAbort();
    else options.signal?.addEventListener('abort', onAbort, { once: true });
    const { events = new EventJournal<Reply>() } = options;
    const storeLimit = new StoreLimit(limits.storeMs);
    const bounded = this.#parts.sessionWithin(storeLimit);
    const store = report
      ? observeStore(bounded, (ended) => report({ type: 'store.request', ...ended }))
      : bounded;
    const running: Running = { abort, steering: new Steering(), events, storeLimit, store };
    this.#running.set(id, running);
    const publish = (call: EventJournal<Reply>) =>
      this.#followers.get(id)?.forEach((begin) => void begin(call));
    publish(events);
    events.onLate = (event) => {
      const late = new EventJournal<Reply>();
      late.push(event);
      late.end({ cause: undefined });
      publish(late);
    };
    const placedAt = performance.now();
    let turn: SessionTurn | undefined;
    let stopTimer = () => {};
    let stopWatching = async () => {};
    try {
      turn = await this.#wait(waiting, running);
      if (waiting.stage === 'queued' && !abort.signal.aborted)
        await unlessAborted(this.#place(waiting, Promise.resolve()), abort.signal);
      report?.({ type: 'turn.taken', waitedMs: performance.now() - placedAt });
      const { lost } = turn;
      const onLost = () => {
        report?.({ type: 'turn.lost' });
        abort.abort(lost.reason);
      };
      lost.addEventListener('abort', onLost, { once: true });
      stopTimer = startTimer(limits.callMs, () => abort.abort(new Interruption('timed_out')));
      stopWatching = await this.control.watch(turn.token, async (order) => {
        if (order.type === 'steer') return running.steering.send(order.messages);
        onAbort();
        return true;
      });
      const call = await this.#open(waiting, turn, running);
      waiting.stage = 'begun';
      this.#running.set(id, { ...running, call });
      return await task(call, call.options.session.version === 0);
    } finally {
      stopTimer();
      this.#running.get(id)?.call?.account.end();
      this.#running.delete(id);
      // Commands such as `compact` have no reply. Readers of their events get an empty one, so that the stream ends.
      if (options.events === undefined)
        events.end({ result: replyOf({ sessionId: key.parts.sessionId, stopReason: 'completed' }) });
      running.steering.close();
      await stopWatching();
      options.signal?.removeEventListener('abort', onAbort);
      await turn?.release();
    }
  }

  /**
   * Rejects new and queued calls. Running calls stop after their current step. After `drainMs`, they are aborted during it. They can be
   * resumed.
   */
  drain(drainMs: number): void {
    this.#isClosed = true;
    this.#admission.refuseAll(this.#closed());
    // Stop at once the calls that run nothing: those that still wait for another process, and those in a pause between retries.
    for (const { call, abort } of this.#running.values()) {
      if (call === undefined || call.pauses) abort.abort(new Interruption('shutdown'));
    }
    const stop = () => {
      for (const { abort } of this.#running.values()) abort.abort(new Interruption('shutdown'));
      const { closeMs } = this.#parts.settings.limits;
      this.#stopped.abort(new TimeLimitError('Waiting for running calls', 'limits.closeMs', closeMs));
    };
    if (drainMs === 0) stop();
    else {
      const cancel = startTimer(drainMs, stop);
      void this.#turns.idle().then(cancel);
    }
  }

  /** Waits for calls that {@link SessionTurns.drain} lets finish, and for background work. */
  async close(): Promise<void> {
    const { closeMs } = this.#parts.settings.limits;
    const grace = closeMs || Number.POSITIVE_INFINITY;
    const idle = unlessAborted(this.#turns.idle(), this.#stopped.signal, grace);
    await idle.catch((error) => process.emitWarning(errorText(error)));
    await this.#background.drain(closeMs);
  }

  /** Acquires the lease on the session across all processes. While another process holds it, the call gives its slot to other calls. */
  async #wait(waiting: Waiting, { store, abort }: Running): Promise<SessionTurn> {
    const { key, options, report, ticket } = waiting;
    const { signal } = abort;
    const { turns, processTtlMs, limits } = this.#parts.settings;
    const { queueMs, outageMs } = { ...limits, ...options.control?.limits };
    const how: TakeTurnOptions = {
      turns,
      processTtlMs,
      timeoutMs: queueMs || Number.POSITIVE_INFINITY,
      outageMs: outageMs || Number.POSITIVE_INFINITY,
      onWait: () => {
        notify('onWait', options.control?.onWait, undefined);
        if (ticket === undefined) return;
        waiting.stage = 'queued';
        report?.({ type: 'turn.awaited' });
        ticket.stepBack();
        ticket.placed.catch((error: unknown) => abort.abort(error));
      },
      onTakeOver: () => report?.({ type: 'turn.taken_over' }),
      onUncertain: (isOver) =>
        this.#running.get(key.toString())?.call?.emit({ type: 'turn.uncertain', isOver }),
    };
    try {
      // If the call is already interrupted, wait for the lease without the signal, because the user's message must still be saved.
      return await takeTurn(store, key, signal.aborted ? how : { ...how, signal });
    } catch (error) {
      if (error === signal.reason) this.#refuseClosed();
      throw error;
    }
  }

  async #open(
    { key, runtime, callId, report, options: { output, control = {} } }: Waiting,
    turn: SessionTurn,
    running: Running,
  ): Promise<RunningCall> {
    const { abort, store } = running;
    const unstored: Message[] = [];
    const session = await openSession(turn.guard(store, abort.signal), key, {
      onConflict: this.#parts.settings.onConflict,
      fence: turn.fence,
      added: () => unstored,
      merged: () => call.emit({ type: 'session.merged' }),
    });
    const log = this.#logOf(key);
    log.continues(session.state.context);
    const call: RunningCall = new RunningCall({
      ...running,
      ...{
        parts: this.#parts,
        tools: this.#tools,
        session,
        turn,
        unstored,
        runtime,
        callId,
        report,
        output,
        control,
      },
      log,
      files: this.files(runtime),
      background: this.#background,
      isDraining: () => this.#isClosed,
      compactionCounters: this.#compactionCounters,
    });
    return call;
  }

  #refuseClosed(): void {
    if (this.#isClosed) throw this.#closed();
  }

  #closed(): HarnessError {
    return new HarnessError(
      'agent_closed',
      `Agent "${this.#parts.settings.name}" is closed or shutting down, and rejects new calls. Nothing was stored; call another instance.`,
    );
  }
}
