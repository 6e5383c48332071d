import {
  type AgentState,
  type CallScope,
  type CompactionOutcome,
  type CompactionReason,
  type CompactOptions,
  estimateCounter,
  InvalidInputError,
  isContextOverflow,
  type Message,
  type Model,
  type Pin,
  type PinRequest,
  type ReasonScope,
  textOf,
} from '@x/core';
import {
  countWork,
  inPieces,
  mayBeOverflow,
  othersTurn,
  overflowFigures,
  type UserScope,
} from '@x/core/internal';
import { messageBytes } from '@x/core/messages';
import { isUserRequest } from '../conversation/regions.js';
import { errorLine } from '../conversation/text.js';
import { Meter } from '../meter.js';
import { RECALL_HINT } from '../recall/create-recall.js';
import { RECALL } from '../recall/passages.js';
import { budgetFor, type ContextWindow, contextWindowOf, isDue, mostTokensOf } from '../run/budget.js';
import { runCompaction, unchangedOutcome } from '../run/compaction-run.js';
import { observerFor, stagesOf } from '../run/ladder.js';
import { missingPins, PINS_SHARE, pinBoard } from '../run/pins.js';
import type { Stage } from '../stage.js';
import { nativeIsOff } from '../stages/summarize.js';
import { narrativeMessage } from '../summary/summary-message.js';
import type { ResolvedCapabilityConfig } from './capability-config.js';
import { carriedState } from './carried-state.js';
import { announce, callAfter, callBefore, flushRemoved } from './notify.js';
import { RETRY_GROWTH, SessionMemories, type SessionMemory } from './session-memory.js';
import { SessionTracker } from './session-tracker.js';
import {
  calibrate,
  calibrationOf,
  changeNotes,
  heldUntil,
  holdOff,
  isPlausible,
  isWriting,
  keepPins,
  learnWindow,
  noteWriting,
  pinsIn,
  toldWindow,
} from './stored-state.js';
import { swapContext, undoCompaction, undoRecordOf, withRecord } from './undo.js';

/** The share of the window from which on a refusal without a reason that is known may be one for size. */
const DOUBTFUL_SHARE = 0.7;
/** Tokens that a provider may add to a request: such a report tells nothing about the count. */
const OWN_PROMPT = 10_000;
/** A provider that reports so many tokens for each of ours, so many times in a row, counts otherwise than it should. */
const HIGH_RATIO = 1.6;
const STEADY = 5;
/** The share of a trigger from which messages are read ahead: most conversations end before. */
const NEAR = 0.5;
/** From this share of the trigger point on a narrative may be begun ahead of time, however fast the conversation grows. */
const AHEAD_SHARE = 0.7;

const INSTRUCTIONS_UNREAD =
  'The record is written by rules, which cannot follow instructions: what was asked for changed nothing. Name a model as `model`, and it reads them.';

type Emit = ReasonScope['emit'];

/** Of the room for pins, so much may be asked for: a smaller model, or a longer system prompt, must not lose one. */
const HELD_SHARE = 0.5;

/** Puts a message behind a conversation, in front of requests that no model has answered. */
function addBehind(state: AgentState, message: Message): void {
  const context = state.contextMutable();
  context.splice(context.findLastIndex((one) => !isUserRequest(one)) + 1, 0, message);
}

interface RunOptions extends Pick<CompactOptions, 'instructions' | 'upTo'> {
  /** The provider told the size of the request that it refused, and its window. */
  readonly isMeasured?: boolean | undefined;
  /** Reduces nothing: what a coming reduction will wait for is begun. */
  readonly isAhead?: boolean | undefined;
  /** Computed already, and for which conversation; to be used unless a hook says no. */
  readonly ready?: { readonly before: readonly Message[]; readonly outcome: CompactionOutcome } | undefined;
}

/** Carries out the compactions of one capability, session by session. */
export class CompactionRunner {
  readonly #config: ResolvedCapabilityConfig;
  readonly #stages: readonly Stage[];
  readonly #observe: ((message: Message) => void) | undefined;
  readonly #trackers = new WeakMap<AgentState, SessionTracker>();
  readonly #memories = new SessionMemories();
  readonly #warned = new Set<string>();

  constructor(config: ResolvedCapabilityConfig) {
    this.#config = config;
    this.#observe = observerFor(config);
    this.#stages = stagesOf(config);
  }

  /** Counts the next request, uncalibrated. */
  measure(scope: ReasonScope): number {
    const tracker = this.tracker(scope.state);
    const { system, tools, reminders, total } = tracker.meter.measure({
      ...scope,
      context: scope.state.context,
    });
    tracker.frame = system + tools + reminders;
    return total;
  }

  /** Tokens of the window that are free, as far as is known between requests; 0 where so many more would make a reduction due. */
  free(scope: CallScope, more: number): number {
    const { state, model } = scope;
    const tracker = this.tracker(state);
    const tokens = (tracker.meter.conversation(state.context) + tracker.frame) * calibrationOf(state, model);
    const window = this.#window(scope);
    return isDue(this.#config, window, tokens + more, state.context.length) ? 0 : window.tokens - tokens;
  }

  /** Counts as the session's requests are counted. */
  meter({ state, model }: CallScope): Meter {
    return new Meter(this.#config.counter ?? estimateCounter, calibrationOf(state, model));
  }

  /**
   * Before a model call: reduces when a trigger is reached, unless nothing could be done for this very conversation. Returns the
   * count of the request, uncalibrated.
   */
  async reduceIfDue(scope: ReasonScope): Promise<number> {
    const tracker = this.tracker(scope.state);
    const memory = this.#memories.of(scope);
    memory.step(scope.callId);
    this.#deliver(scope, memory);
    const { version } = tracker;
    await this.#countAhead(scope);
    const counted = this.measure(scope);
    await this.#reduceIfDue(scope, memory, counted * calibrationOf(scope.state, scope.model));
    return version === tracker.version ? counted : this.measure(scope);
  }

  /** Counts what was not counted yet in pieces: a conversation that was loaded may be long. */
  #countAhead({ state, signal }: ReasonScope): Promise<void> {
    return inPieces(countWork(this.#config.counter ?? estimateCounter, state.context), signal);
  }

  async #reduceIfDue(scope: ReasonScope, memory: SessionMemory, tokens: number): Promise<void> {
    const { context } = scope.state;
    const window = this.#window(scope);
    const { dueTokens, dueMessages } = budgetFor(this.#config, 'proactive_budget', window.tokens, tokens);
    this.tracker(scope.state).fill = Math.max(tokens / dueTokens, context.length / dueMessages);
    const expected = memory.grow(tokens, context.length);
    // A compaction that was undone is not made again, unless the request would not fit at all.
    if (tokens < Math.min(heldUntil(scope.state), window.tokens)) return;
    if (isDue(this.#config, window, tokens, context.length, messageBytes(context))) {
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
    if (!this.#stages.some((stage) => stage.isDueEarly) || !memory.earlyCheckDue(tokens)) return;
    // Nothing is announced that then turns out to be nothing: reducing changes nothing yet.
    const before = [...context];
    const outcome = await this.#reduce(scope, 'proactive_budget', before, {});
    if (outcome.status === 'applied')
      await this.run(scope, 'proactive_budget', { ready: { before, outcome } });
  }

  /** Puts a narrative that came late behind the conversation, in front of requests that no model has answered, if it has room. */
  #deliver(scope: ReasonScope, { desk }: SessionMemory): void {
    const { state } = scope;
    this.#deliverPins(scope);
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
    // Without room it waits for the next compaction, which takes it into the summary.
    if (isDue(this.#config, this.#window(scope), whole, state.context.length + 1)) return;
    addBehind(state, message);
    desk.clear(found.writing);
    scope.emit({ type: 'context.narrated', messageId: message.id, tokens, modelCalls, usage });
  }

  /** Puts pinned texts that no message holds behind the conversation. A compaction moves them behind its summary. */
  #deliverPins({ state }: ReasonScope): void {
    const tracker = this.tracker(state);
    const pins = pinsIn(state);
    const seen = `${tracker.version} ${pins.map(({ id }) => id).join()}`;
    if (tracker.pinsSeen === seen) return;
    tracker.pinsSeen = seen;
    const missing = missingPins(pins, state.context);
    if (missing.length > 0) addBehind(state, pinBoard(missing));
  }

  /**
   * Keeps a text word for word from now on.
   *
   * @throws {InvalidInputError} if the session has no such message, or if the pins would be too large for the window.
   */
  async pin(scope: ReasonScope, what: PinRequest): Promise<Pin> {
    const { state } = scope;
    const pins = pinsIn(state);
    const refuse = (path: string, message: string): never => {
      throw new InvalidInputError('pin', [{ path, message }]);
    };
    const messageId = 'messageId' in what ? what.messageId : undefined;
    const isIt = ({ id }: Message) => id === messageId;
    const message = messageId && (state.context.find(isIt) ?? (await scope.log.get(messageId)));
    if (messageId !== undefined && !message) {
      refuse(
        'messageId',
        `${JSON.stringify(messageId)} is no message of this session: agent.state() has their ids`,
      );
    }
    const text = 'text' in what ? what.text.trim() : message ? textOf(message) : '';
    if (text === '') refuse('text' in what ? 'text' : 'messageId', 'has no text that could be kept');
    const known = pins.find((pin) => pin.text === text);
    if (known) return known;
    const number = Math.max(0, ...pins.map(({ id }) => Number(id.slice(1)))) + 1;
    const pin = { id: `p${number}`, text, ...(messageId === undefined ? {} : { messageId }) };
    const tokens = Math.round(this.meter(scope).message(pinBoard([pin, ...pins])));
    const most = Math.floor(mostTokensOf(this.#window(scope).tokens) * PINS_SHARE * HELD_SHARE);
    if (tokens > most) {
      refuse(
        '',
        `all pins would have ${tokens} tokens, and ${most} may be pinned in this window: unpin others, or pin a shorter text`,
      );
    }
    keepPins(state, [pin, ...pins]);
    scope.emit({ type: 'state.changed' });
    return pin;
  }

  /** Lets go of a pin. Returns whether there was one. */
  unpin({ state, emit }: ReasonScope, id: string): boolean {
    const pins = pinsIn(state);
    const rest = pins.filter((pin) => pin.id !== id);
    if (rest.length === pins.length) return false;
    keepPins(state, rest);
    emit({ type: 'state.changed' });
    return true;
  }

  /** After an overflow: whether the conversation is smaller now, so that the same call is worth another try. */
  async reduceAfterOverflow(scope: ReasonScope, error: unknown): Promise<boolean> {
    const isMeasured = this.#learnFrom(scope, error);
    const outcome = await this.run(scope, 'request_too_large', { isMeasured });
    return outcome.status === 'applied';
  }

  /** Keeps what a refusal proves of the model's window, and of our count. Returns whether it told the size of the request. */
  #learnFrom(scope: ReasonScope, error: unknown): boolean {
    if (!isContextOverflow(error)) return false;
    const { state, model } = scope;
    const counted = this.measure(scope);
    const tokens = counted * calibrationOf(state, model);
    const { inputTokens = 0, contextWindow } = overflowFigures(error);
    const named = this.#namedWindow(scope);
    // A refusal without a number proves at least that the window is smaller than the request.
    const told = contextWindow ?? (named === undefined ? tokens : undefined);
    if (told !== undefined && told < (named ?? Number.POSITIVE_INFINITY)) learnWindow(state, model, told);
    const { tokens: window } = this.#window(scope);
    const isMeasured = inputTokens > window && isPlausible(inputTokens / counted);
    if (isMeasured) calibrate(state, model, inputTokens, counted, 1);
    else if (tokens < window) calibrate(state, model, window, counted, 1);
    return isMeasured;
  }

  /**
   * Tests if a provider may have refused the request for its size, although it does not say so in words that are known. Once,
   * until a request succeeds again.
   */
  mayBeTooLarge(scope: ReasonScope, counted: number, error: unknown): boolean {
    const tracker = this.tracker(scope.state);
    const { tokens: window, isKnown } = this.#window(scope);
    const used = (counted * calibrationOf(scope.state, scope.model)) / window;
    if (tracker.isDoubted || !isKnown || used < DOUBTFUL_SHARE || !mayBeOverflow(error)) return false;
    tracker.isDoubted = true;
    const message =
      `${scope.model.id} refused a request that fills ${Math.round(used * 100)} % of its window: ${errorLine(error)}. ` +
      'These words are not known as those of an overflow. The conversation is reduced, and the request sent once more.';
    scope.emit({ type: 'warning', source: 'compaction', message });
    return true;
  }

  /** Learns from the usage that a provider reports how far our count is off, and warns of what cannot be true. */
  learnUsage(scope: ReasonScope, reported: number, counted: number): void {
    const { state, model, emit } = scope;
    const tracker = this.tracker(state);
    tracker.isDoubted = false;
    if (!(reported > 0 && counted > 0)) return;
    const ratio = reported / counted;
    calibrate(state, model, reported, counted);
    if (!isPlausible(ratio)) {
      // A provider may add a prompt of its own to a short request.
      if (Math.abs(reported - counted) < OWN_PROMPT) return;
      const cause =
        ratio > 1 ? 'are cached tokens counted more than once' : 'are cached tokens left out of inputTokens';
      const message = `${model.id} reports ${reported} tokens for a request of about ${counted}: ${cause}? Such reports are ignored.`;
      this.#warnOnce(`usage ${model.id}`, emit, message);
      return;
    }
    tracker.highReports = ratio > HIGH_RATIO && counted > OWN_PROMPT ? tracker.highReports + 1 : 0;
    if (tracker.highReports < STEADY) return;
    const message =
      `${model.id} reports ${ratio.toFixed(1)} tokens for each that is counted here, again and again, so reductions begin ` +
      'early. Are cached tokens counted twice? Otherwise give the counter of that model as `counter`.';
    this.#warnOnce(`ratio ${model.id}`, emit, message);
  }

  /** One compaction from the first event to the last: log, hooks, reduce, swap, checkpoint. */
  async run(
    scope: ReasonScope,
    reason: CompactionReason,
    options: RunOptions = {},
  ): Promise<CompactionOutcome> {
    const { state } = scope;
    const tracker = this.tracker(state);
    await this.#countAhead(scope);
    const memory = this.#memories.of(scope);
    const before = options.ready?.before ?? [...state.context];
    const tokens = Math.round(this.measure(scope) * calibrationOf(state, scope.model));
    const refuse = (status: 'skipped' | 'failed', why: string) =>
      unchangedOutcome(status, why, before, tokens);
    if (tracker.busy) return refuse('skipped', 'another compaction of this session is under way');

    tracker.busy = true;
    this.warnOfNative(scope.model, scope.emit);
    if (reason === 'manual' && options.instructions && !this.#summarizer(scope.model)) {
      scope.emit({ type: 'warning', source: 'compaction', message: INSTRUCTIONS_UNREAD });
    }
    scope.emit({
      type: 'context.compacting',
      reason,
      strategy: this.#strategy(),
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
      announce(scope, reason, before, outcome);
    }
    await callAfter(this.#config, scope, outcome);
    return outcome;
  }

  /** Restores the list from before the last summary, and leaves it alone until it has grown. */
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
        this.#memories.of(scope).desk.drop();
        const tokens = counted();
        holdOff(scope.state, tokens * (1 + RETRY_GROWTH));
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
        return refuse(
          'failed',
          `the session log could not be written, so nothing was reduced: ${errorLine(error)}`,
        );
      }
    }
    const answer = await callBefore(this.#config, scope, {
      forced: reason !== 'proactive_budget',
      tokensUsed: tokens,
      contextPercent: Math.round((tokens / this.#window(scope).tokens) * 1_000) / 10,
      messageCount: before.length,
      keepLast: this.#config.keep.messages,
    });
    if (answer.skip) return refuse('skipped', 'the beforeCompaction hook skipped it');

    const instructions = [options.instructions, answer.instructions].filter(Boolean).join('\n') || undefined;
    // What was made ahead of time knows nothing of a hook's instructions.
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
    // A hold is over with the next reduction.
    const forget = changeNotes(scope.state, {
      undo: withRecord(scope.state, undo),
      heldUntil: undefined,
      writing: undefined,
    });
    this.#rewritten(scope);
    try {
      await scope.checkpoint();
    } catch (error) {
      restore();
      forget();
      this.#rewritten(scope);
      throw error;
    }
    return outcome;
  }

  #rewritten(scope: CallScope): void {
    this.tracker(scope.state).version++;
    this.#memories.of(scope).rewritten();
  }

  /** Begins ahead of time what the next compaction will wait for, unless it was begun here or elsewhere. */
  async #prepare(scope: ReasonScope, memory: SessionMemory): Promise<void> {
    const { state } = scope;
    const { desk } = memory;
    if (!this.#config.summary.background || !memory.isReturning) return;
    if (!desk.isEmpty && desk.find(state.context) === undefined) desk.drop();
    if (!desk.isEmpty || isWriting(state)) return;
    await this.#reduce(scope, 'proactive_budget', [...state.context], { isAhead: true });
    const begun = desk.find(state.context);
    if (begun === undefined) return;
    memory.begun(begun);
    noteWriting(state, begun.writing.to);
  }

  #reduce(
    scope: ReasonScope,
    reason: CompactionReason,
    messages: readonly Message[],
    options: RunOptions,
  ): Promise<CompactionOutcome> {
    const { state, model, system, tools, reminders, log, limits, emit } = scope;
    const { desk } = this.#memories.of(scope);
    const modelId = (this.#summarizer(model) ?? model).id;
    return runCompaction({
      work: {
        desk,
        onUsage: (usage) => emit({ type: 'usage.reported', source: 'compaction', modelId, usage }),
        warn: (message) => emit({ type: 'warning', source: 'compaction', message }),
        isElsewhere: desk.isEmpty && isWriting(state),
        modelMs: limits?.modelMs,
      },
      config: this.#config,
      stages: this.#stages,
      meter: this.meter(scope),
      messages,
      options: {
        reason,
        instructions: options.instructions,
        system,
        tools,
        reminders,
        signal: scope.signal,
        appendix: carriedState(state),
        pins: pinsIn(state),
        upTo: options.upTo,
        logLocation: this.#config.offloadBeforeCompact ? log.location : undefined,
        recall: tools.some(({ name }) => name === RECALL) ? RECALL_HINT : undefined,
      },
      summarizer: this.#summarizer(model),
      live: this.#config.model === undefined,
      // "No model" means that none is called, unless the stages name the provider's own compaction.
      model: this.#summarizer(model) || this.#config.stages ? model : undefined,
      dryRun: false,
      window: this.#window(scope),
      isMeasured: options.isMeasured,
      isAhead: options.isAhead,
    });
  }

  #summarizer(agentModel: Model): Model | undefined {
    const { model } = this.#config;
    return model === null ? undefined : (model ?? agentModel);
  }

  /** Names the stages for events: the preset, else the stages of the configuration. */
  #strategy(): string {
    const { preset, stages } = this.#config;
    return preset ?? (stages ? this.#stages.map(({ name }) => name).join('+') : 'auto');
  }

  /** Tells once that a configuration asks for a compaction that the model does not offer, and which stages act without it. */
  warnOfNative(model: Model, emit: Emit): void {
    const { stages, preset } = this.#config;
    const at = this.#stages.findIndex(({ name }) => name === 'native');
    // A preset names it before all reducing only where the user asked for it.
    const asked = stages !== undefined && (preset === undefined ? at !== -1 : at === 1);
    if (model.compact || !asked) return;
    const others = this.#stages
      .filter(({ name }) => name !== 'native')
      .map(({ name, cost }) => {
        const writes = cost === 'llm' && this.#config.model !== null;
        return name === 'summarize' && !writes ? 'summarize (a record, without a model call)' : name;
      });
    this.#warnOnce(
      `native ${model.id}`,
      emit,
      `The stage native does nothing: ${nativeIsOff(model.id)} ` +
        `${others.length > 0 ? `These act: ${others.join(', ')}` : 'Nothing else reduces'}.`,
    );
  }

  /** Says why a model's own compaction does nothing where no stage asks for it, and what to write; else nothing. */
  unusedNative(model: Model): string | undefined {
    if (!model.compact || this.#stages.some(({ name }) => name === 'native')) return undefined;
    const { preset } = this.#config;
    let remedy = `Preset ${preset} has no such stage: leave the preset out to use the default stages`;
    if (preset === undefined) remedy = 'Add native to the stages';
    if (preset === 'everruns') remedy = 'Write strategy: auto or native';
    return (
      `${model.id} offers its own compaction (native_compaction: auto), but no stage uses it. ` +
      `${remedy}, or leave native_compaction out.`
    );
  }

  /** The smallest of the windows that are known: a provider that refused a request knows best. */
  #window(scope: CallScope): ContextWindow {
    const { state, model, emit } = scope;
    const named = this.#namedWindow(scope);
    const told = toldWindow(state, model);
    const window = contextWindowOf(
      named === undefined || told === undefined ? (named ?? told) : Math.min(named, told),
    );
    if (!window.isKnown) {
      this.#warnOnce(
        model.id,
        emit,
        `The context window of ${model.id} is unknown; ${window.tokens} tokens are assumed. Set ` +
          'contextWindow (context_window in files) on the model or in the compaction configuration.',
      );
    }
    return window;
  }

  #namedWindow({ model }: CallScope): number | undefined {
    return this.#config.contextWindow ?? model.contextWindow;
  }

  #warnOnce(key: string, emit: Emit, message: string): void {
    if (this.#warned.has(key)) return;
    this.#warned.add(key);
    emit({ type: 'warning', source: 'compaction', message });
  }

  /** Forgets the sessions of a user, or all: nobody waits for what models still write about them. */
  forget(user?: UserScope): void {
    this.#memories.clear(user);
  }

  /** Answers what is remembered of a state between its steps. */
  tracker(state: AgentState): SessionTracker {
    let tracker = this.#trackers.get(state);
    if (tracker === undefined) {
      tracker = new SessionTracker(this.#config.counter ?? estimateCounter);
      this.#trackers.set(state, tracker);
    }
    return tracker;
  }
}
