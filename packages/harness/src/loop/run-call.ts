import {
  type AgentState,
  assistantMessage,
  type FinishReason,
  type Message,
  ModelError,
  SessionLeaseError,
  SessionStoreError,
  StopCallError,
  type StopReason,
  TimeLimitError,
  type ToolUseBlock,
  textOf,
  toolUsesOf,
  userMessage,
} from '@x/core';
import { errorText } from '@x/core/internal';
import type { Decisions, Reply } from '../agent/call-options.js';
import { errorOf, HarnessError } from '../errors/harness-error.js';
import { Interruption } from '../errors/interruption.js';
import { refuseEarlyAnswer, settleAnswer } from '../output/final-answer.js';
import { act } from './act.js';
import { closeWaiting, pendingCalls, prunePending, recordDecisions } from './approvals.js';
import { around } from './around.js';
import {
  abandonedCalls,
  errorResult,
  errorResultsFor,
  openCalls,
  repairPairing,
  waitingCalls,
} from './open-calls.js';
import { reason } from './reason.js';
import { isOpenCall, openReceipt, resumeReceipt, settleReceipts } from './receipts.js';
import { unsaidOf } from './repeats.js';
import type { RunningCall } from './running-call.js';

interface RunCallOptions {
  /** Identifies the call, so that it can be repeated. */
  readonly id: string | undefined;
  /** The user's messages; empty to continue an earlier call. */
  readonly input: readonly Message[];
  /** Decisions on tool calls that wait for approval. */
  readonly decisions: Decisions;
  readonly streaming: boolean;
}

/**
 * Runs the agent loop: reason, act, repeat, until the model requests no more tools. However the loop ends, even with an error, the
 * conversation so far is stored, unless the lease was lost or the session was deleted.
 */
export async function runCall(call: RunningCall, options: RunCallOptions): Promise<Reply> {
  // Long because it lists all phases of a call in order, from the first event to the last.
  const { callId, state } = call.scope;
  const resumed = options.input.length === 0;
  if (resumed) call.ids = resumeReceipt(state, options.id);
  settleEarlierCall(call);
  const decided = recordDecisions(state, {
    decisions: options.decisions,
    superseding: !resumed,
    timeoutMs: call.settings.approvalTimeoutMs,
  });
  state.activeCall = { callId, startedAt: new Date().toISOString() };
  const { permissionMode: mode } = call.options.control;
  if (mode !== undefined) state.permissionContext = { ...state.permissionContext, mode };
  call.emit({ type: 'call.started', callId, resumed });
  for (const announcement of decided) call.emit(announcement);
  // Without decisions, a new message supersedes pending tool calls. With decisions, approved tool calls run first, and then the model reads
  // the message.
  if (!resumed && Object.keys(options.decisions).length === 0) call.add(closeWaiting(state));
  prunePending(state);
  let input = options.input;
  const addInput = () => {
    call.add(input);
    if (options.id !== undefined && input.length > 0)
      call.ids = openReceipt(state, call.ids, [...userIds(input), options.id]);
    input = [];
  };
  // Open tool calls of the previous step get their results before the new messages are added.
  if (openCalls(state.context).length === 0) addInput();

  let stopReason: StopReason = 'completed';
  try {
    // An approved tool call runs at most once: a second process with the same decision fails at this save, before the tool runs.
    if (decided.length > 0) await call.save({ onConflict: 'fail' });
    // `eraseUser` in another process finds sessions only in the store, not by their leases. So a new session with a lease (`fence`) is stored
    // at once.
    else
      await call.scope.checkpoint(
        call.options.turn.fence !== undefined && call.options.session.version === 0,
      );
    const run = around(
      call.capabilities,
      'aroundCall',
      call.scope,
      async () => {
        const earlier = await finishStep(call, options.input);
        addInput();
        stopReason = earlier ?? (await loop(call, options));
      },
      call.settings.limits,
    );
    await run();
  } catch (thrown) {
    stopReason = await settleFailure(call, errorOf('The call', thrown), addInput);
  }
  // If a shutdown stopped the call, the call stays active, so that the next process can resume it.
  if (stopReason !== 'shutdown') state.activeCall = undefined;
  const output = stopReason === 'completed' ? call.options.output?.value : undefined;
  call.account.end();
  const reply: Reply = {
    sessionId: state.sessionId,
    text: call.textBefore + (call.lastAssistant ? textOf(call.lastAssistant) : ''),
    message: call.lastAssistant,
    messages: call.messages,
    finishReason: call.finishReason,
    responseIds: call.responseIds,
    usage: call.usage,
    compaction: call.account.cost,
    stopReason,
    pendingCalls: stopReason === 'permission_required' ? pendingCalls(state) : [],
    steps: call.step,
    output,
  };
  settleReceipts(state, call.ids, reply);
  try {
    await call.save();
  } catch (error) {
    call.emit({ type: 'call.failed', callId, error });
    throw error;
  }
  call.emit(call.completion(reply));
  return reply;
}

async function loop(call: RunningCall, { streaming }: RunCallOptions): Promise<StopReason> {
  const { maxIterations } = call.settings;
  const { scope } = call;
  const { steering } = call.options;
  while (call.step < maxIterations) {
    if (call.options.isDraining()) call.options.abort.abort(new Interruption('shutdown'));
    scope.signal.throwIfAborted();
    await call.room();
    if (await steering.deliver((...given) => steer(call, ...given))) await scope.checkpoint();
    await call.nextStep();
    const message = await reason(call, streaming);
    const uses = message ? toolUsesOf(message) : [];
    const cut = CUT[call.finishReason ?? 'other'];
    if (cut === undefined) call.cutInRow = 0;
    if (cut !== undefined) {
      const end = await settleCut(call, message, cut);
      if (end !== undefined && (steering.isEmpty || call.step >= maxIterations)) return end;
    } else if (uses.length > 0) {
      call.textBefore = '';
      refuseEarlyAnswer(call, uses);
      refuseUnchosenTools(call, uses);
      if (!(await act(call, call.usable))) return askHuman(call);
      const { stopWhen } = call.options.control;
      if (await call.waitFor('stopWhen', () => stopWhen?.(call.progress))) return 'stop_condition';
    } else {
      warnIfNoToolCall(call);
      const isSettled = await settleAnswer(call, message);
      // Messages that arrived in the meantime are answered too, if steps are left.
      if (isSettled && (steering.isEmpty || call.step >= maxIterations)) return 'completed';
    }
    await scope.checkpoint();
  }
  return 'max_iterations';
}

/**
 * Adds new messages to the conversation. Skips messages that the conversation already has, because a sender that got no confirmation sends
 * its messages again.
 */
async function steer(call: RunningCall, messages: readonly Message[], confirm: () => void): Promise<void> {
  const added = await unsaidOf(call, messages);
  call.add(added);
  call.ids = openReceipt(call.scope.state, call.ids, userIds(added));
  confirm();
  // The messages may end with tool calls, for example to read the files that the user mentions.
  await finishStep(call, messages);
}

function userIds(messages: readonly Message[]): readonly string[] {
  return messages.filter(({ role }) => role === 'user').map(({ id }) => id);
}

/** The stop reasons for the finish reasons of incomplete answers. */
const CUT: Readonly<Partial<Record<FinishReason, 'truncated' | 'filtered' | 'refused'>>> = {
  length: 'truncated',
  'content-filter': 'filtered',
  refusal: 'refused',
};

/** Maximum number of consecutive answers with cut-off tool calls after which the model is asked again. After one more, the call ends. */
const MAX_CUT_ANSWERS = 3;

const NOT_RUN = {
  truncated:
    'Not run: your answer was cut off at the limit of output tokens, so this call may be incomplete. Make it again, in smaller parts.',
  filtered: 'Not run: the provider withheld the rest of the answer, so this call may be incomplete.',
  refused: 'Not run: the answer ended in a refusal.',
} as const;

const CONTINUE =
  'Your answer was cut off at the limit of output tokens. Go on exactly where it stopped, without repeating anything.';

/** Ends an incomplete answer: none of its tool calls runs. Returns the reason to stop, or `undefined` to continue. */
async function settleCut(
  call: RunningCall,
  message: Message | undefined,
  cut: 'truncated' | 'filtered' | 'refused',
): Promise<StopReason | undefined> {
  const uses = message ? toolUsesOf(message) : [];
  call.add(uses.map((use) => errorResult(use, NOT_RUN[cut])));
  if (cut !== 'truncated') return cut;
  // The model reads that its tool calls were cut off, and is asked again. After too many such answers in a row, the call ends instead, so that
  // they do not use up all steps.
  if (uses.length > 0) return ++call.cutInRow > MAX_CUT_ANSWERS ? cut : undefined;
  if (call.options.output) return (await settleAnswer(call, message)) ? 'completed' : undefined;
  const mayContinue =
    call.messages.filter(({ metadata }) => metadata?.continues).length < call.settings.continueTruncated;
  if (!mayContinue) return cut;
  if (message) call.textBefore += textOf(message);
  call.lastAssistant = undefined;
  call.add([userMessage(CONTINUE, { kind: 'synthetic', metadata: { continues: true } })]);
  return undefined;
}

/** Rejects tool calls that contradict the tool choice of the step, because not every model obeys the tool choice. */
function refuseUnchosenTools(call: RunningCall, uses: readonly ToolUseBlock[]): void {
  const { toolChoice } = call.control;
  const chosen = typeof toolChoice === 'object' ? toolChoice.tool : undefined;
  if (toolChoice !== 'none' && chosen === undefined) return;
  const must = chosen === undefined ? 'answer without calling a tool' : `call the tool ${chosen} alone`;
  const refused = openCalls(call.scope.state.context).filter(
    (use) => uses.includes(use) && use.name !== chosen,
  );
  const text = `Not run: in this step you must ${must}.`;
  call.add(refused.map((use) => errorResult(use, text)));
}

/** Warns if a model ended its answer without the tool call that `toolChoice` requires. */
function warnIfNoToolCall(call: RunningCall): void {
  const { toolChoice = 'auto' } = call.control;
  if (toolChoice === 'auto' || toolChoice === 'none' || call.options.output !== undefined) return;
  const asked = typeof toolChoice === 'object' ? `the tool ${toolChoice.tool}` : 'a tool';
  const message = `${call.scope.model.id} ended its answer without calling ${asked}, which toolChoice requires.`;
  call.emit({ type: 'warning', source: 'toolChoice', message });
}

/**
 * Runs the open tool calls at the end of the conversation that a human has approved, or that need no approval. Returns a reason to stop if
 * decisions are missing.
 */
async function finishStep(call: RunningCall, input: readonly Message[]): Promise<StopReason | undefined> {
  const { state } = call.scope;
  if (openCalls(state.context).length === 0) return undefined;
  while (!(await act(call, call.tools.byName))) {
    if (input.length === 0) return askHuman(call);
    // The user has sent a new message, so new approval requests are denied at once.
    const denied = recordDecisions(state, { decisions: {}, superseding: true, timeoutMs: 0 });
    for (const announcement of denied) call.emit(announcement);
  }
  await call.scope.checkpoint();
  return undefined;
}

function askHuman(call: RunningCall): StopReason {
  call.emit({ type: 'permission.required', calls: pendingCalls(call.scope.state) });
  return 'permission_required';
}

/** Repairs the conversation before anything is added, because an earlier process may have died between a tool call and its result. */
function settleEarlierCall(call: RunningCall): void {
  const { state } = call.scope;
  const context = state.contextMutable();
  call.add(errorResultsFor(abandonedCalls(state), 'crash', state.activeCall?.began));
  const repaired = repairPairing(context, waitingCalls(state).length > 0);
  if (repaired === context) return;
  call.change((state) => void state.contextMutable().splice(0, context.length, ...repaired));
}

/**
 * Ends a failed call. Returns the stop reason if the user interrupted the call, a limit was exceeded, or a hook ended the call. If this
 * process lost the session, stores nothing and throws. After any other error, stores the conversation and rethrows the error.
 */
async function settleFailure(call: RunningCall, error: unknown, addInput: () => void): Promise<StopReason> {
  const { signal, state, callId } = call.scope;
  const lost = [signal.reason, error].find((reason) => isSessionLost(reason, call));
  if (lost !== undefined) {
    // Another process holds the lease now, or the session was deleted. So write nothing more to the session or its log.
    call.emit({ type: 'call.failed', callId, error: lost });
    throw lost;
  }
  const ended = signal.aborted
    ? signal.reason
    : isTimeLimit(error)
      ? new Interruption('timed_out')
      : undefined;
  const interruption = ended instanceof Interruption ? ended : undefined;
  if (interruption && call.draft.text !== '') {
    const { text, messageId: id } = call.draft;
    call.add([assistantMessage(text, { id, metadata: { interrupted: true } })]);
    call.draft.end();
  }
  call.draft.discard();
  const unfinished = interruption?.kind === 'interrupted' ? openCalls(state.context) : abandonedCalls(state);
  call.add(errorResultsFor(unfinished, interruption?.kind ?? 'crash'));
  prunePending(state);
  addInput();
  if (interruption) {
    if (isTimeLimit(error)) call.emit({ type: 'warning', source: 'limits', message: errorText(error) });
    return interruption.kind;
  }
  if (StopCallError.isInstance(error)) return error.stopReason;

  state.activeCall = undefined;
  try {
    await call.save();
  } catch (saveError) {
    // The caller gets the first error. The failed save is only a warning.
    if (saveError !== error) {
      const message = errorText(saveError);
      call.emit({
        type: 'warning',
        source: 'session',
        message: `The failed call could not be stored: ${message}`,
      });
    }
  }
  call.emit({ type: 'call.failed', callId, error });
  throw error;
}

/** Tests if this call lost its lease, or its session was deleted. Hooks and models may throw the same errors about other sessions. */
function isSessionLost(error: unknown, { options }: RunningCall): boolean {
  const isLost = SessionLeaseError.isInstance(error) && error.code === 'lease_lost';
  const isDeleted = SessionStoreError.isInstance(error) && error.code === 'session_deleted';
  return (isLost || isDeleted) && error.sessionKey === options.session.key.toString();
}

/** Returns whether an error is a timeout of a hook, or of a model after its retries. */
function isTimeLimit(error: unknown): boolean {
  return (
    TimeLimitError.isInstance(error) ||
    (ModelError.isInstance(error) && TimeLimitError.isInstance(error.cause))
  );
}

/**
 * Rejects a call without new messages if nothing in the session can be continued.
 *
 * @param repeated The id of the repeated message, if the session already contains this message.
 * @throws {HarnessError} `nothing_to_resume` if the session is new or has nothing to send, or if its last call ended normally;
 * `call_forgotten` if the session contains the message, but has no receipt of the call that sent it.
 */
export function refuseNothingToResume(state: AgentState, isNew: boolean, repeated?: string): void {
  const last = state.context.at(-1);
  const isOpen =
    state.activeCall !== undefined ||
    last?.role === 'tool' ||
    last?.role === 'user' ||
    openCalls(state.context).length > 0;
  // The repair removes tool results without calls. If nothing else is in the context, there is nothing to send.
  const isEmpty = repairPairing(state.context, true).length === 0;
  const isOpenRepeat = repeated !== undefined && isOpenCall(state, repeated);
  if (!isNew && (isOpen || isOpenRepeat) && !isEmpty) return;
  if (repeated !== undefined && !isEmpty) {
    throw new HarnessError(
      'call_forgotten',
      `Message "${repeated}" is in session "${state.sessionId}", but the session has no record of the call that sent it. So ` +
        'there is no reply to repeat, and nothing was run. Read the session with agent.state(), or send the message with another id.',
    );
  }
  throw new HarnessError('nothing_to_resume', `Session "${state.sessionId}" ${why(isNew, isEmpty)}`);
}

function why(isNew: boolean, isEmpty: boolean): string {
  if (isNew) return 'does not exist yet, so there is nothing to resume. Send a message.';
  if (isEmpty) return 'has no messages that can be sent to a model. Send a message.';
  return 'has no call to resume. Send a new message.';
}
