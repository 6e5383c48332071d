import {
  assistantMessage,
  type Message,
  SessionLeaseError,
  StopCallError,
  type StopReason,
  type Tool,
  textOf,
  toolUsesOf,
} from '@x/core';
import { Interruption } from '../errors/interruption.js';
import type { Reply } from '../reply.js';
import { act } from './act.js';
import { settleAnswer, withoutEarlyAnswers } from './answer.js';
import { onion } from './onion.js';
import { closeDangling, danglingCalls, repairPairing } from './pairing.js';
import { reason } from './reason.js';
import type { RunningCall } from './running-call.js';

interface RunCallOptions {
  /** What the user says; nothing to go on where an earlier call stopped. */
  readonly input: readonly Message[];
  readonly streaming: boolean;
  readonly tools: ReadonlyMap<string, Tool>;
}

/**
 * The agent loop: reason, act, repeat, until the model asks for no more tools. Whatever ends it, also an error, the
 * conversation up to then is stored.
 */
export async function runCall(call: RunningCall, options: RunCallOptions): Promise<Reply> {
  const { callId, state } = call.scope;
  const resumed = options.input.length === 0;
  settleEarlierCall(call);
  state.activeCall = { callId, startedAt: new Date().toISOString() };
  call.emit({ type: 'call.started', callId, resumed });
  call.add(options.input);

  let stopReason: StopReason = 'completed';
  try {
    await call.scope.checkpoint();
    const hooks = call.options.parts.capabilities.flatMap((capability) =>
      capability.aroundCall
        ? [
            (_: undefined, next: (argument: undefined) => Promise<void>) =>
              capability.aroundCall?.(call.scope, () => next(undefined)) ?? next(undefined),
          ]
        : [],
    );
    await onion(hooks, async () => {
      stopReason = await loop(call, options);
    })(undefined);
  } catch (error) {
    stopReason = await settleFailure(call, error);
  }
  // A call that a shutdown cut short stays open, so that the next process can resume it.
  if (stopReason !== 'shutdown') state.activeCall = undefined;
  try {
    await call.save();
  } catch (error) {
    call.emit({ type: 'call.failed', callId, error });
    throw error;
  }
  const output = stopReason === 'completed' ? call.options.output?.value : undefined;
  call.emit({
    type: 'call.completed',
    callId,
    stopReason,
    usage: call.usage,
    ...(output === undefined ? {} : { output }),
  });
  return {
    sessionId: state.sessionId,
    text: call.lastAssistant ? textOf(call.lastAssistant) : '',
    message: call.lastAssistant,
    usage: call.usage,
    stopReason,
    steps: call.step,
    output,
  };
}

async function loop(call: RunningCall, { streaming, tools }: RunCallOptions): Promise<StopReason> {
  const { maxIterations } = call.options.parts.settings;
  const { scope } = call;
  const { steering } = call.options;
  while (call.step < maxIterations) {
    scope.signal.throwIfAborted();
    if (steering.deliver((messages) => call.add(messages))) await scope.checkpoint();
    call.step++;
    const message = await reason(call, streaming);
    await scope.checkpoint();
    const uses = message ? toolUsesOf(message) : [];
    if (uses.length > 0) await act(call, withoutEarlyAnswers(call, uses), tools);
    // What was said meanwhile is answered too, if there are steps left for it.
    else if ((await settleAnswer(call, message)) && (steering.isEmpty || call.step >= maxIterations)) {
      return 'completed';
    }
    await scope.checkpoint();
  }
  return 'max_iterations';
}

/** Makes the conversation sound before anything is added: an earlier process may have died between call and result. */
function settleEarlierCall(call: RunningCall): void {
  const context = call.scope.state.contextMutable();
  call.add(closeDangling(danglingCalls(context), 'crash'));
  const repaired = repairPairing(context);
  if (repaired !== context) call.replace(repaired);
}

/** An interruption is an orderly end; any other error is passed on, once what there is has been stored. */
async function settleFailure(call: RunningCall, error: unknown): Promise<StopReason> {
  const { signal, state, callId } = call.scope;
  const lost = [signal.reason, error].find((reason) => SessionLeaseError.isInstance(reason));
  if (lost !== undefined) {
    // The session is somebody else's now: nothing more is written, neither to it nor to its log.
    call.emit({ type: 'call.failed', callId, error: lost });
    throw lost;
  }
  const interruption = signal.aborted && signal.reason instanceof Interruption ? signal.reason : undefined;
  if (interruption && call.partialText !== '') {
    call.add([assistantMessage(call.partialText, { metadata: { interrupted: true } })]);
  }
  call.add(closeDangling(danglingCalls(state.context), interruption?.kind ?? 'crash'));
  if (interruption) return interruption.kind;
  if (StopCallError.isInstance(error)) return error.stopReason;

  state.activeCall = undefined;
  try {
    await call.save();
  } catch (saveError) {
    // The first error is what the caller must see; that the rest could not be stored is worth a warning.
    if (saveError !== error) {
      const message = saveError instanceof Error ? saveError.message : String(saveError);
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
