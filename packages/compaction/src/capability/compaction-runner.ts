import {
  type AgentState,
  type CallScope,
  type CompactionOutcome,
  type CompactionReason,
  type CompactOptions,
  estimateCounter,
  type Message,
  type Model,
  type ReasonScope,
} from '@x/core';
import { countWork, inPieces, memoize, othersTurn, systemClock, type UserScope } from '@x/core/internal';
import { isUserRequest } from '../conversation/regions.js';
import { errorLine } from '../conversation/text.js';
import { Meter } from '../meter.js';
import { RECALL_HINT } from '../recall/create-recall.js';
import { RECALL } from '../recall/passages.js';
import { budgetFor, isDue } from '../run/budget.js';
import { runCompaction, unchangedOutcome } from '../run/compaction-run.js';
import { observerFor, stagesOf } from '../run/ladder.js';
import type { Stage } from '../stage.js';
import { lookUpNumbers } from '../summary/numbers.js';
import { narrativeMessage } from '../summary/summary-message.js';
import type { ResolvedCapabilityConfig } from './capability-config.js';
import { carriedState } from './carried-state.js';
import { nativeIsMissing } from './native-notice.js';
import { announce, callAfter, callBefore, flushRemoved } from './notify.js';
import { RETRY_GROWTH, SessionMemories, type SessionMemory, SessionTracker } from './session-memory.js';
import { calibrationOf, changeNotes, heldUntil, isWritingElsewhere, pinsIn } from './stored-state.js';
import { swapContext, undoCompaction, undoRecordOf, withRecord } from './undo.js';
import { type Emit, WindowKnowledge } from './window-knowledge.js';

/** Share of a trigger from which messages are prepared ahead of a compaction. Most conversations end before it. */
const NEAR = 0.5;
/** Share of the trigger point below which no narrative is started ahead of time, however fast the conversation grows. */
const AHEAD_SHARE = 0.7;

const INSTRUCTIONS_UNREAD =
  'The instructions had no effect, because no model writes the summary. Set `model` in the compaction configuration.';

/** Appends a message to a conversation, before requests that no model has answered. */
function addBehind(state: AgentState, message: Message): void {
  const context = state.contextMutable();
  context.splice(context.findLastIndex((one) => !isUserRequest(one)) + 1, 0, message);
}

interface RunOptions extends Pick<CompactOptions, 'instructions' | 'upTo'> {
  /** `true` if the provider reported the size of the request that it rejected, and its window. */
  readonly isMeasured?: boolean | undefined;
  /** `true`: only start the model calls that the next reduction will wait for; change nothing. */
  readonly isAhead?: boolean | undefined;
  /** An outcome that is already computed, and its input. Used unless a hook skips the compaction or adds instructions. */
  readonly ready?: { readonly before: readonly Message[]; readonly outcome: CompactionOutcome } | undefined;
}

/** Runs the compactions of one capability for all its sessions. */
export class CompactionRunner {
  readonly windows: WindowKnowledge;
  readonly #config: ResolvedCapabilityConfig;
  readonly stages: readonly Stage[];
  readonly #observe: ((message: Message) => void) | undefined;
  readonly #memories = new SessionMemories();
  /** Returns the tracker of a loaded state, which keeps measurements between steps. */
  readonly tracker = memoize((_: AgentState) => new SessionTracker(this.#config.counter ?? estimateCounter));

  constructor(config: ResolvedCapabilityConfig) {
    this.#config = config;
    this.#observe = observerFor(config);
    this.stages = stagesOf(config);
    this.windows = new WindowKnowledge(config.contextWindow);
  }

  /** Returns what this process remembers of the call's session. */
  memory(scope: CallScope): SessionMemory {
    return this.#memories.of(scope);
  }

  /** Counts the tokens of the next request, uncalibrated. */
  measure(scope: ReasonScope): number {
    const tracker = this.tracker(scope.state);
    const { system, tools, reminders, total } = tracker.meter.measure({
      ...scope,
      context: scope.state.context,
    });
    tracker.frame = system + tools + reminders;
    return total;
  }

  /** Estimates the free tokens of the window; 0 if `more` tokens would make a reduction due. */
  free(scope: CallScope, more: number): number {
    const { state, model } = scope;
    const tracker = this.tracker(state);
    const tokens = (tracker.meter.conversation(state.context) + tracker.frame) * calibrationOf(state, model);
    const window = this.windows.of(scope);
    return isDue(this.#config, window, tokens + more, state.context.length) ? 0 : window.tokens - tokens;
  }

  /** Returns the texts that replaced cut arguments in the conversation. */
  truncations(state: AgentState): ReadonlySet<string> {
    const { meter, truncations } = this.tracker(state);
    const { context } = state;
    // A resumed call decides about its tools before its first request is measured.
    if (meter.unseen(context).length === context.length) meter.conversation(context);
    return truncations;
  }

  /** Makes a meter that counts like the session's requests. */
  meter({ state, model }: CallScope): Meter {
    return new Meter(this.#config.counter ?? estimateCounter, calibrationOf(state, model));
  }

  /**
   * Reduces before a model call if a trigger is reached. Skips a conversation that could not be reduced before and has hardly grown since.
   * Returns the count of the request, uncalibrated.
   */
  async reduceIfDue(scope: ReasonScope): Promise<number> {
    const tracker = this.tracker(scope.state);
    const memory = this.memory(scope);
    memory.step(scope.callId);
    this.#deliver(scope, memory);
    const { version } = tracker;
    await this.#countAhead(scope);
    const counted = this.measure(scope);
    await this.#reduceIfDue(scope, memory, counted * calibrationOf(scope.state, scope.model));
    return version === tracker.version ? counted : this.measure(scope);
  }

  /** Counts the uncounted messages in several steps, because a loaded conversation may be long. */
  #countAhead({ state, signal }: ReasonScope): Promise<void> {
    const added = this.tracker(state).meter.unseen(state.context);
    return inPieces(countWork(this.#config.counter ?? estimateCounter, added), signal);
  }

  async #reduceIfDue(scope: ReasonScope, memory: SessionMemory, tokens: number): Promise<void> {
    const { context } = scope.state;
    const window = this.windows.of(scope);
    const { dueTokens, dueMessages } = budgetFor(this.#config, 'proactive_budget', window.tokens, tokens);
    const tracker = this.tracker(scope.state);
    tracker.fill = Math.max(tokens / dueTokens, context.length / dueMessages);
    const expected = memory.grow(tokens, context.length);
    // An undone compaction is not repeated, unless the request would not fit at all.
    if (tokens < Math.min(heldUntil(scope.state), window.tokens)) return;
    if (isDue(this.#config, window, tokens, context.length, tracker.bytes)) {
      const isUrgent = window.isKnown && tokens > window.tokens;
      if (!memory.isStillFutile(context, tokens, isUrgent)) await this.run(scope, 'proactive_budget');
      return;
    }
    const isNear = isDue(this.#config, window, tokens / NEAR, context.length / NEAR);
    if (isNear) memory.readAhead(context, this.#observe);
    if (isDue(this.#config, window, expected.tokens, expected.messages)) {
      const isFar = !isDue(this.#config, window, tokens / AHEAD_SHARE, context.length / AHEAD_SHARE);
      if (!isFar) await this.#prepare(scope, memory);
    }
    if (!this.stages.some((stage) => stage.isDueEarly) || !memory.earlyCheckDue(tokens)) return;
    // First reduce without changing the state, so that a reduction without effect is not announced.
    const before = [...context];
    const outcome = await this.#reduce(scope, 'proactive_budget', before, {});
    if (outcome.status === 'applied')
      await this.run(scope, 'proactive_budget', { ready: { before, outcome } });
  }

  /** Appends a late narrative to the conversation, before requests that no model has answered, if there is room. */
  #deliver(scope: ReasonScope, { desk }: SessionMemory): void {
    const { state } = scope;
    const found = desk.find(state.context);
    if (!found?.isLate || found.writing.result === undefined) return;
    const { narrative, usage, modelCalls } = found.writing;
    if (narrative === undefined) {
      desk.clear(found.writing);
      return;
    }
    const message = narrativeMessage(narrative);
    const tokens = Math.round(this.meter(scope).message(message));
    const whole = this.measure(scope) * calibrationOf(state, scope.model) + tokens;
    // If there is no room, the next compaction merges the narrative into its summary.
    if (isDue(this.#config, this.windows.of(scope), whole, state.context.length + 1)) return;
    addBehind(state, message);
    desk.clear(found.writing);
    scope.emit({ type: 'context.narrated', messageId: message.id, tokens, modelCalls, usage });
  }

  /** Reduces after an overflow. Returns whether the conversation is smaller now; only then is a retry useful. */
  async reduceAfterOverflow(scope: ReasonScope, error: unknown): Promise<boolean> {
    const isMeasured = this.windows.learnFromOverflow(scope, this.measure(scope), error);
    const outcome = await this.run(scope, 'request_too_large', { isMeasured });
    return outcome.status === 'applied';
  }

  /** Runs one compaction with its events: writes the log, calls the hooks, reduces, replaces the conversation, saves a checkpoint. */
  async run(
    scope: ReasonScope,
    reason: CompactionReason,
    options: RunOptions = {},
  ): Promise<CompactionOutcome> {
    const { state } = scope;
    const tracker = this.tracker(state);
    await this.#countAhead(scope);
    const memory = this.memory(scope);
    const before = options.ready?.before ?? [...state.context];
    const tokens = Math.round(this.measure(scope) * calibrationOf(state, scope.model));
    const refuse = (status: 'skipped' | 'failed', why: string) =>
      unchangedOutcome(status, why, before, tokens);
    if (tracker.busy) return refuse('skipped', 'another compaction of this session is running');

    tracker.busy = true;
    this.warnOfNative(scope.model, scope.emit);
    const { preset, stages } = this.#config;
    if (reason === 'manual' && options.instructions && !this.#summarizer(scope.model)) {
      scope.emit({ type: 'warning', source: 'compaction', message: INSTRUCTIONS_UNREAD });
    }
    scope.emit({
      type: 'context.compacting',
      reason,
      strategy: preset ?? (stages ? this.stages.map(({ name }) => name).join('+') : 'auto'),
      messagesBefore: before.length,
      tokensBefore: tokens,
    });
    let outcome = refuse('failed', 'interrupted');
    try {
      outcome = await this.#carryOut(scope, reason, before, tokens, options, refuse);
    } catch (error) {
      outcome = refuse('failed', errorLine(error));
      throw error;
    } finally {
      tracker.busy = false;
      if (outcome.status !== 'applied' && outcome.status !== 'aborted') {
        memory.settle(state.context, tokens, outcome.status === 'skipped');
      }
      announce(this.#config, scope, reason, before, outcome);
    }
    await callAfter(this.#config, scope, outcome);
    return outcome;
  }

  /** Restores the list from before the last summary, and does not compact it again until it has grown. */
  async undo(scope: ReasonScope): Promise<boolean> {
    const tracker = this.tracker(scope.state);
    if (tracker.busy) return false;
    tracker.busy = true;
    try {
      const counted = () => this.measure(scope) * calibrationOf(scope.state, scope.model);
      const tokensBefore = Math.round(counted());
      const undone = await undoCompaction(scope);
      if (undone) {
        this.#rewritten(scope);
        this.memory(scope).desk.drop();
        const tokens = counted();
        changeNotes(scope.state, { heldUntil: Math.ceil(tokens * (1 + RETRY_GROWTH)), writing: undefined });
        scope.emit({ type: 'context.restored', tokensBefore, tokensAfter: Math.round(tokens) });
      }
      return undone;
    } finally {
      tracker.busy = false;
    }
  }

  async #carryOut(
    scope: ReasonScope,
    reason: CompactionReason,
    before: readonly Message[],
    tokens: number,
    options: RunOptions,
    refuse: (status: 'skipped' | 'failed', why: string) => CompactionOutcome,
  ): Promise<CompactionOutcome> {
    if (this.#config.offloadBeforeCompact) {
      try {
        await scope.log.append(before);
      } catch (error) {
        const why = `the session log could not be written, so nothing was reduced: ${errorLine(error)}`;
        return refuse('failed', why);
      }
    }
    const answer = await callBefore(this.#config, scope, {
      forced: reason !== 'proactive_budget',
      tokensUsed: tokens,
      contextPercent: Math.round((tokens / this.windows.of(scope).tokens) * 1_000) / 10,
      messageCount: before.length,
      keepLast: this.#config.keep.messages,
    });
    this.memory(scope).instructions = answer.instructions || undefined;
    if (answer.skip) return refuse('skipped', 'the beforeCompaction hook skipped the compaction');

    const instructions = [options.instructions, answer.instructions].filter(Boolean).join('\n') || undefined;
    // Discard a precomputed outcome, because it does not follow the hook's instructions.
    const ready = answer.instructions ? undefined : options.ready?.outcome;
    const outcome = ready ?? (await this.#reduce(scope, reason, before, { ...options, instructions }));
    if (outcome.status !== 'applied') return outcome;

    await othersTurn();
    await flushRemoved(this.#config, scope, before, outcome);
    const altered =
      reason === 'proactive_budget' &&
      outcome.messagesAfter === before.length &&
      outcome.messages.every(({ id }, index) => id === before[index]?.id);
    const undo = await undoRecordOf(before, outcome.messages, scope.log, altered);
    if (scope.signal.aborted) return { ...refuse('skipped', 'aborted'), status: 'aborted' };
    const restore = swapContext(scope.state, before, outcome.messages);
    if (!restore) return refuse('failed', 'another writer changed the conversation in the meantime');
    // An applied reduction ends the hold that an undo set.
    const forget = changeNotes(scope.state, {
      undo: withRecord(scope.state, undo),
      heldUntil: undefined,
      writing: undefined,
    });
    if (reason === 'proactive_budget') this.windows.compacted(scope);
    this.#rewritten(scope);
    try {
      await scope.checkpoint();
    } catch (error) {
      restore();
      forget();
      this.#rewritten(scope);
      throw error;
    }
    // If this fails, the next compaction logs the summary.
    const summary = outcome.messages.filter(({ kind }) => kind === 'summary');
    if (this.#config.offloadBeforeCompact) await scope.log.append(summary).catch(() => {});
    return outcome;
  }

  #rewritten(scope: CallScope): void {
    const tracker = this.tracker(scope.state);
    tracker.version++;
    tracker.meter.conversation(scope.state.context);
    this.memory(scope).rewritten();
  }

  /** Starts the model calls of the next compaction ahead of time, unless this or another process has started them. */
  async #prepare(scope: ReasonScope, memory: SessionMemory): Promise<void> {
    const { state } = scope;
    const { desk } = memory;
    if (!this.#config.summary.background || !memory.isReturning) return;
    // A hook may add instructions, which are unknown before it was called once. Later calls probably add the same.
    if (this.#config.beforeCompaction && memory.instructions === null) return;
    if (!desk.isEmpty && desk.find(state.context) === undefined) desk.drop();
    if (!desk.isEmpty || isWritingElsewhere(state, memory.noted)) return;
    await this.#reduce(scope, 'proactive_budget', [...state.context], {
      isAhead: true,
      instructions: memory.instructions ?? undefined,
    });
    const begun = desk.find(state.context);
    if (begun === undefined) return;
    memory.begun(begun);
    memory.noted = systemClock.now();
    changeNotes(state, { writing: memory.noted });
  }

  async #reduce(
    scope: ReasonScope,
    reason: CompactionReason,
    messages: readonly Message[],
    options: RunOptions,
  ): Promise<CompactionOutcome> {
    const { state, model, system, tools, reminders, log, limits, emit } = scope;
    await lookUpNumbers(messages, log);
    const { desk, noted } = this.memory(scope);
    const modelId = (this.#summarizer(model) ?? model).id;
    return runCompaction({
      work: {
        desk,
        onUsage: (usage) => emit({ type: 'usage.reported', source: 'compaction', modelId, usage }),
        warn: (message) => emit({ type: 'warning', source: 'compaction', message }),
        isElsewhere: desk.isEmpty && isWritingElsewhere(state, noted),
        modelMs: limits?.modelMs,
      },
      config: this.#config,
      stages: this.stages,
      meter: this.meter(scope),
      messages,
      options: {
        reason,
        instructions: options.instructions,
        system,
        tools,
        reminders,
        signal: scope.signal,
        appendix: carriedState(state, reminders),
        pins: pinsIn(state),
        upTo: options.upTo,
        logLocation: this.#config.offloadBeforeCompact ? log.location : undefined,
        recall: tools.some(({ name }) => name === RECALL) ? RECALL_HINT : undefined,
      },
      summarizer: this.#summarizer(model),
      live: this.#config.model === undefined,
      // If there is no summarizer, no model is called, unless `stages` lists the provider's own compaction.
      model: this.#summarizer(model) || this.#config.stages ? model : undefined,
      dryRun: false,
      window: this.windows.of(scope),
      isMeasured: options.isMeasured,
      isAhead: options.isAhead,
    });
  }

  #summarizer(agentModel: Model): Model | undefined {
    const { model } = this.#config;
    return model === null ? undefined : (model ?? agentModel);
  }

  /** Warns once for each model if the configuration asks for a native compaction that the model does not offer. */
  warnOfNative(model: Model, emit: Emit): void {
    const problem = nativeIsMissing(this.#config, this.stages, model);
    if (problem !== undefined) this.windows.warnOnce(emit, `native ${model.id}`, problem);
  }

  /** Forgets the sessions of a user, or all, and aborts their model calls. */
  forget(user?: UserScope): void {
    this.#memories.clear(user);
  }
}
