import {
  type AgentEvent,
  type AgentEventBody,
  type AgentState,
  addUsage,
  type CallScope,
  type Capability,
  type CompactionStatus,
  type ContextUsage,
  type FinishReason,
  InvalidInputError,
  type Message,
  type Model,
  type ReasonScope,
  type RuntimeContext,
  type Session,
  TimeLimitError,
  type Tool,
  type ToolScope,
  textOf,
  toolUsesOf,
  type Usage,
  type Workspace,
  XError,
} from '@x/core';
import {
  allOf,
  ContextMeter,
  confineWorkspace,
  errorText,
  type LogNote,
  OpenToolCalls,
  type SessionTurn,
  startTimer,
  type WorkspaceConfine,
  wellFormed,
} from '@x/core/internal';
import { classifyModelError, type ToolChoice, type ToolDefinition } from '@x/core/messages';
import type { WorkspaceSessionLog } from '@x/core/node';
import type { Report } from '../agent/activity.js';
import type { AgentParts, ParsedSettings } from '../agent/agent-parts.js';
import type { StoreLimit } from '../agent/bounded-store.js';
import type { Reply } from '../agent/call-options.js';
import type { CurrentTools, ToolList } from '../agent/tool-list.js';
import { Interruption } from '../errors/interruption.js';
import type { BackgroundQueue } from '../lib/background-queue.js';
import type { EventJournal } from '../lib/event-journal.js';
import { freezeMessage } from '../lib/freeze-message.js';
import type { SessionCounters } from '../lib/session-counters.js';
import type { RequestedOutput } from '../output/requested-output.js';
import { AnswerIds } from './answer-ids.js';
import { hookResult } from './around.js';
import { Audience } from './audience.js';
import { CompactionAccount } from './compaction-account.js';
import { type CallControl, type CallProgress, type StepControl, stepControl } from './control.js';
import { Draft } from './draft.js';
import { spareReceipts } from './receipts.js';
import { RequestView } from './request-view.js';
import type { Steering } from './steering.js';

/** Metadata key of a message: the id of the model that wrote it. */
export const AUTHOR = 'modelId';

const CHANGES_OF_THE_WINDOW: readonly AgentEventBody['type'][] = [
  'context.compacted',
  'context.narrated',
  'context.restored',
  'call.completed',
];

/** Metadata key of an answer: the number of tool calls that were removed because they exceeded `limits.answerCalls`. */
export const DROPPED = 'droppedCalls';

const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };

export interface RunningCallOptions {
  readonly parts: AgentParts;
  readonly tools: ToolList;
  readonly session: Session;
  readonly turn: SessionTurn;
  /** Messages since the last save. The session reads them when it merges with another writer. */
  readonly unstored: Message[];
  readonly log: WorkspaceSessionLog;
  /** Limits the time of requests to the store and the log. */
  readonly storeLimit: StoreLimit;
  /** The files that the call's tools can use. */
  readonly files: Workspace;
  readonly runtime: RuntimeContext;
  readonly callId: string;
  /** Reports the call's requests to the log. */
  readonly report: Report | undefined;
  /** Ends the call. The reason is usually an `Interruption`. */
  readonly abort: AbortController;
  readonly background: BackgroundQueue;
  /** Whether the agent is closing: the call then stops after its current step. */
  readonly isDraining: () => boolean;
  /** Cost and savings of compactions, by session. */
  readonly compactionCounters: SessionCounters;
  /** Messages that arrive while the call runs. */
  readonly steering: Steering;
  /** The requested output, if any. */
  readonly output?: RequestedOutput | undefined;
  /** Settings that differ for this call. */
  readonly control: CallControl;
  readonly events: EventJournal<Reply>;
}

/**
 * One running call: the scope of its hooks, and its results so far. Messages must enter the context through {@link RunningCall.add} or
 * {@link RunningCall.change}, so that all of them are logged.
 */
export class RunningCall {
  readonly options: RunningCallOptions;
  readonly settings: ParsedSettings;
  readonly capabilities: readonly Capability[];
  /** Its model is the one in use, which changes after a fallback. */
  readonly scope: CallScope & { model: Model };
  /** Tracks the cost and savings of compactions. */
  readonly account: CompactionAccount;
  usage: Usage = NO_USAGE;
  step = 0;
  /** Number of answers with cut-off calls since the last complete answer. */
  cutInRow = 0;
  lastAssistant: Message | undefined;
  finishReason: FinishReason | undefined;
  /** Text of earlier cut-off answers, which the last answer continues. */
  textBefore = '';
  /** Whether the call only waits until it may ask the model again. */
  pauses = false;
  readonly messages: Message[] = [];
  /** The ids by which the call can be repeated; empty if the caller passed none. */
  ids: readonly string[] = [];
  readonly responseIds: string[] = [];
  /** The models whose answers contain parts that other models cannot read, such as signed thoughts. */
  readonly authors = new Set<unknown>();
  /** The tools of the current step. Capabilities may change theirs between steps. */
  tools: CurrentTools;
  /** The settings of the current step. */
  control: StepControl;
  /** The scope of the current step's hooks; `undefined` before the first step. */
  reason: ReasonScope | undefined;
  /** The answer that the model is streaming. */
  readonly draft = new Draft((event) => this.emit(event));
  /** The ids of the tool calls that the model is streaming. */
  readonly answerIds: AnswerIds;
  /** The conversation of the last request, as the model reads it. */
  readonly view = new RequestView();
  /** The last error of the model itself, not of a hook. */
  modelFailure: unknown;
  /** The outcome of the last compaction that a too large request triggered. */
  lastRescue: { readonly status: CompactionStatus; readonly message: string } | undefined;
  /** The model of steps that do not choose one. A fallback replaces it for the rest of the call. */
  #model: Model;
  /** Models that failed permanently in this call. */
  readonly #failed = new Set<Model>();
  readonly #answerNames: readonly string[];
  readonly #audience: Audience;
  readonly #openCalls = new OpenToolCalls();
  readonly #meter: ContextMeter;
  #unlogged: Message[] = [];
  /** Settles when the last requested save is done. */
  #saving: Promise<unknown> = Promise.resolve();
  #events = 0;

  constructor(options: RunningCallOptions) {
    const { parts, session, log, runtime, callId, abort, control } = options;
    const { signal } = abort;
    this.options = options;
    this.settings = {
      ...parts.settings,
      maxIterations: control.maxIterations ?? parts.settings.maxIterations,
      limits: { ...parts.settings.limits, ...control.limits },
    };
    this.control = control;
    this.capabilities = parts.capabilities;
    this.answerIds = new AnswerIds(session.state);
    const own = { agentId: this.settings.name, state: session.state };
    this.account = new CompactionAccount(this.capabilities, options.compactionCounters, own);
    this.#meter = new ContextMeter(parts.counter, (message, index) => {
      // Every sent message is measured first, including loaded and replaced ones, so this freezes all of them.
      freezeMessage(message);
      this.answerIds.take(message);
      if (index === 0) this.view.restart();
      const author = message.metadata?.[AUTHOR];
      if (author !== undefined) this.authors.add(author);
    });
    const answer = options.output === undefined ? [] : [options.output.tool];
    this.#answerNames = answer.map(({ name }) => name);
    this.tools = options.tools.current();
    this.#model = control.model ?? parts.model;
    this.#audience = new Audience(parts, options.events, (event) => this.emit(event));
    this.scope = {
      agentId: this.settings.name,
      callId,
      model: this.#model,
      runtime,
      state: session.state,
      workspace: confineWorkspace(
        options.files,
        this.#confine(() => this.scope),
      ),
      storage: parts.storage,
      log,
      signal,
      limits: this.settings.limits,
      // Copied, because a capability may change its object before the event is read.
      emit: (event) => this.emit({ ...event }),
      checkpoint: async (isNeeded = false) => {
        if (isNeeded || this.settings.checkpoint === 'step') await this.#checkpoint();
      },
      background: (name, task) =>
        options.background.add(session.key.toString(), name, task, (error) =>
          this.emit({ type: 'warning', source: name, message: errorText(error) }),
        ),
      beforeReduction: async (removed) => {
        for (const capability of this.capabilities) {
          await this.waitFor(`beforeReduction of "${capability.name}"`, () =>
            capability.beforeReduction?.(removed, this.scope),
          );
        }
      },
    };
  }

  /** Returns the files that a tool may use, once its call was judged. */
  filesFor(scope: ToolScope, confine: WorkspaceConfine | undefined): Workspace {
    return confineWorkspace(this.options.files, allOf([this.#confine(() => scope), confine]));
  }

  /** Combines the file restrictions of all capabilities. */
  #confine(scopeOf: () => CallScope | ToolScope): WorkspaceConfine | undefined {
    const confining = this.capabilities.filter((capability) => capability.confine !== undefined);
    return allOf(
      confining.map(
        (each) =>
          async (...file) =>
            this.waitFor(`confine of "${each.name}"`, () => each.confine?.(scopeOf())?.(...file)),
      ),
    );
  }

  /**
   * Runs a hook or another function of the user within `limits.hookMs`.
   *
   * @throws {TimeLimitError} if the function takes too long. Throws the signal's reason if the function does not end soon after an abort.
   */
  waitFor<Value>(name: string, run: () => Value | PromiseLike<Value>): Value | PromiseLike<Value> {
    return hookResult({ name, signal: this.scope.signal, limits: this.settings.limits }, run);
  }

  emit(body: AgentEventBody): void | Promise<void> {
    for (const result of this.#openCalls.before(body)) this.emit(result);
    const told = this.account.observe(body);
    const reason = CHANGES_OF_THE_WINDOW.includes(body.type) ? this.reason : undefined;
    const event = reason === undefined ? told : { ...told, ...{ context: this.measure(reason) } };
    if (event.type === 'context.compacted' && event.reason === 'request_too_large') this.lastRescue = event;
    // A receiver may emit another event, which then gets the next number.
    this.#audience.hear(this.#emitted(event), this.scope);
    return this.room();
  }

  /** Sends the reply of a repeated call to the readers of its stream. Observers and listeners received it from the first call. */
  replay(reply: Reply): void {
    const { message, finishReason = 'stop' } = reply;
    const { step } = this;
    const bodies: AgentEventBody[] = [{ type: 'call.started', callId: this.scope.callId, resumed: true }];
    // Without its results, a message with tool calls would look unfinished.
    if (message !== undefined && toolUsesOf(message).length === 0) {
      bodies.push({ type: 'text.delta', text: textOf(message), messageId: message.id, draft: 1 });
      bodies.push({ type: 'message.added', message });
      bodies.push({ type: 'model.completed', step, message, finishReason, durationMs: 0 });
    }
    bodies.push(this.completion(reply));
    for (const body of bodies) this.options.events.push(this.#emitted(body));
  }

  completion(reply: Reply): Extract<AgentEventBody, { readonly type: 'call.completed' }> {
    const { stopReason, finishReason, text, steps, pendingCalls, usage, compaction, output } = reply;
    const result = { stopReason, finishReason, text, steps, pendingCalls, usage, compaction, output };
    return { type: 'call.completed', callId: this.scope.callId, ...result };
  }

  #emitted(body: AgentEventBody): AgentEvent {
    const { agentId, callId, state } = this.scope;
    const { sessionId } = state;
    const at = new Date().toISOString();
    return { ...body, seq: ++this.#events, sessionId, agentId, callId, step: this.step, at };
  }

  /** Waits while the reader of the events is too far behind. Returns `undefined` if there is no need to wait. */
  room(): Promise<void> | undefined {
    const { events, abort } = this.options;
    const room = events.room(abort.signal);
    if (room === undefined) return undefined;
    const { readerMs } = this.settings.limits;
    const stop = startTimer(readerMs, () => {
      abort.abort(new Interruption('timed_out'));
      const { message } = new TimeLimitError('The reader of the stream', 'limits.readerMs', readerMs);
      this.emit({ type: 'warning', source: 'limits', message });
    });
    return room.finally(stop);
  }

  /** Whether no fallback model is left. */
  get isLastModel(): boolean {
    return this.#others.length === 0;
  }

  /** The fallback models that are left. */
  get #others(): readonly Model[] {
    const { models } = this.options.parts.fallback;
    return models.filter((model) => model !== this.scope.model && !this.#failed.has(model));
  }

  /** Switches to another model for the rest of the call, if the model itself failed and another may succeed. */
  async fallBack(error: unknown): Promise<boolean> {
    if (error !== this.modelFailure || this.scope.signal.aborted) return false;
    const { model } = this.scope;
    const reason = classifyModelError(error);
    this.#failed.add(model);
    for (const next of this.#others) {
      const { when } = this.options.parts.fallback;
      if (!(await this.waitFor('fallback', () => when({ error, kind: reason, model, next })))) continue;
      this.#model = next;
      this.scope.model = next;
      this.draft.discard();
      const names = { from: model.id, to: next.id };
      this.emit({ type: 'model.fallback', ...names, reason, error: errorText(error) });
      return true;
    }
    return false;
  }

  /** Begins the next step and determines its settings. */
  async nextStep(): Promise<void> {
    this.step++;
    const { control } = this.options;
    const own = await this.waitFor('prepareStep', () => control.prepareStep?.(this.progress));
    this.tools = this.options.tools.current();
    const names = new Set([...this.tools.byName.keys(), ...this.#answerNames]);
    this.control = stepControl(control, own, names);
    const { model } = this.control;
    // `prepareStep` may make the same model anew at each step.
    const hasFailed = [...this.#failed].some(({ id }) => id === model?.id);
    this.scope.model = model === undefined || hasFailed ? this.#model : model;
  }

  get progress(): CallProgress {
    return { step: this.step, usage: this.usage, state: this.scope.state, message: this.lastAssistant };
  }

  /** The tools that this step may call. */
  get usable(): ReadonlyMap<string, Tool> {
    const names = this.control.tools;
    const { byName } = this.tools;
    return names === undefined ? byName : new Map([...byName].filter(([name]) => names.includes(name)));
  }

  /** Returns the tool choice. Forces the answer tool in three cases: in the last step, if there is no other tool, and after a rejected answer. */
  toolChoice(tools: readonly ToolDefinition[]): ToolChoice | undefined {
    const tool = this.answerTool?.name;
    const isLast = this.step >= this.settings.maxIterations;
    const isForced = isLast || this.options.output?.isRejected || tools.length === 1;
    return tool !== undefined && isForced ? { tool } : this.control.toolChoice;
  }

  /** The tool that receives the answer, for models without a response format. */
  get answerTool(): ToolDefinition | undefined {
    return this.scope.model.structuredOutput ? undefined : this.options.output?.tool;
  }

  /** Appends messages to the conversation. */
  add(messages: readonly Message[]): void {
    const context = this.scope.state.contextMutable();
    for (const message of messages.map(wellFormed)) {
      freezeMessage(message);
      context.push(message);
      this.messages.push(message);
      this.#unlogged.push(message);
      this.options.unstored.push(message);
      if (message.role === 'assistant') this.lastAssistant = message;
      this.emit({ type: 'message.added', message });
    }
  }

  /**
   * Changes the state. New messages of the conversation are logged too.
   *
   * @throws {InvalidInputError} if the change is asynchronous.
   */
  change(change: (state: AgentState) => unknown): void {
    const { state } = this.scope;
    const known = new Set(state.context);
    if (change(state) instanceof Promise) {
      const message = 'must change the state synchronously; await other work before it';
      throw new InvalidInputError('updateState', [{ path: 'change', message }]);
    }
    this.#unlogged.push(...state.context.filter((message) => !known.has(message)));
  }

  /**
   * Stores the session before and after tool calls that change something, unless `checkpoint` is `call`. Before such calls, also verifies
   * that this process still holds the session. The stored session lists the calls that may have started, for a process that takes over.
   *
   * @param began Ids of the calls that are about to run; empty once they have their results.
   */
  async protect(began: readonly string[]): Promise<void> {
    if (this.settings.checkpoint !== 'call') {
      this.mark(began);
      await this.#checkpoint();
    }
    if (began.length > 0) await this.options.turn.certain(this.scope.signal);
  }

  /** Records which calls are about to run. The next save stores the record. */
  mark(began: readonly string[]): void {
    // The session is then not saved before each tool call, so the record would be out of date.
    if (this.settings.checkpoint === 'call') return;
    const { state } = this.scope;
    if (state.activeCall) state.activeCall = { ...state.activeCall, began: [...began] };
  }

  /**
   * Stores the session as a checkpoint. A store in process memory does not survive a crash, so the log can be written later: at the end of
   * the call, or before a reduction.
   */
  #checkpoint(): Promise<void> {
    return this.#save({ log: this.options.parts.session.reach !== 'process' });
  }

  /** Writes the log, then the session, so that the log always contains everything in the store. */
  save(options?: Parameters<Session['commit']>[0]): Promise<void> {
    return this.#save({ ...options, log: true });
  }

  /** Saves sequentially. Otherwise one save could store messages that another is still writing to the log. */
  #save({ log, ...options }: { readonly log: boolean } & Parameters<Session['commit']>[0]): Promise<void> {
    const { session, unstored } = this.options;
    const save = this.#saving.then(async () => {
      if (log) await this.#saveLog();
      const stored = unstored.length;
      await session.commit(options);
      unstored.splice(0, stored);
    });
    this.#saving = save.catch(() => {});
    return save;
  }

  async #saveLog(): Promise<void> {
    const { notes, done } = spareReceipts(this.scope.state);
    if (this.#unlogged.length + notes.length === 0) return;
    const messages = this.#unlogged;
    this.#unlogged = [];
    try {
      const append = () => this.#logRequest('append', (log) => log.append(messages, notes));
      await this.options.turn.persist(append, this.scope.signal);
      done();
    } catch (error) {
      this.#unlogged = [...messages, ...this.#unlogged];
      throw error;
    }
  }

  /** Finds a message in the log. */
  logged(id: string): Promise<Message | undefined> {
    return this.#logRequest('get', (log) => log.get(id));
  }

  /** Finds a note that the log keeps in addition to its messages. */
  noted(id: string): Promise<LogNote | undefined> {
    return this.#logRequest('get', (log) => log.note(id));
  }

  async #logRequest<Value>(name: 'append' | 'get', work: (log: WorkspaceSessionLog) => Promise<Value>) {
    const { log, storeLimit, report } = this.options;
    const startedAt = performance.now();
    let outcome = 'ok';
    try {
      return await storeLimit.within('The log', name, () => work(log));
    } catch (error) {
      outcome = XError.isInstance(error) ? error.code : 'error';
      throw error;
    } finally {
      const durationMs = performance.now() - startedAt;
      report?.({ type: 'store.request', operation: `log.${name}`, durationMs, outcome });
    }
  }

  addUsage(usage: Usage | undefined): void {
    if (usage) this.usage = addUsage(this.usage, usage);
  }

  /** Reports the tokens of an answer that is not part of the conversation. */
  reportUnused(usage: Usage | undefined): void {
    const { id: modelId } = this.scope.model;
    if (usage) this.emit({ type: 'usage.reported', source: 'unused_answer', modelId, usage });
  }

  measure(reason: ReasonScope): ContextUsage {
    return this.#meter.measure({
      system: reason.system,
      tools: reason.tools,
      context: this.scope.state.context,
      reminders: reason.reminders,
      contextWindow: this.scope.model.contextWindow,
      ratio: this.tokenRatio(),
    });
  }

  /** Returns the provider's tokens per token of our counter; 1 if unknown. */
  tokenRatio(): number {
    const ratios = this.capabilities.map((each) => each.tokenRatio?.(this.scope));
    return ratios.find((ratio) => ratio !== undefined) ?? 1;
  }
}
