import { isDeepStrictEqual } from 'node:util';
import { type AgentState, InvalidInputError, type Message, type StopReason, textOf } from '@x/core';
import { isObject } from '@x/core/internal';
import { type Reply, replyOf } from '../agent/call-options.js';
import { pendingCalls } from './approvals.js';
import type { RunningCall } from './running-call.js';

const EXTENSION = 'calls';
/** How many of its latest calls a session remembers: a client repeats the one whose reply it did not get. */
export const REMEMBERED_CALLS = 8;
/** Calls that stopped for these reasons are gone on with. */
const UNFINISHED: readonly StopReason[] = ['interrupted', 'shutdown', 'timed_out'];

/** What is kept of a call that has ended. */
interface FinishedCall extends Pick<Reply, 'stopReason' | 'finishReason' | 'usage' | 'steps'> {
  readonly id: string;
  /** Of the last assistant message. */
  readonly messageId?: string;
}

/** Remembers which call runs: whoever goes on with it, without its id, ends it. Answers its id, where it has one. */
export function beginCall(state: AgentState, id: string | undefined, resumed: boolean): string | undefined {
  const { open, ...rest } = state.extensions[EXTENSION] ?? {};
  const named = id ?? (resumed && typeof open === 'string' ? open : undefined);
  if (named !== undefined) state.extensions[EXTENSION] = { ...rest, open: named };
  else if (open !== undefined) state.extensions[EXTENSION] = rest;
  return named;
}

/** Remembers how a call ended, so that it can be repeated. */
export function rememberCall(state: AgentState, id: string, reply: Reply): void {
  if (UNFINISHED.includes(reply.stopReason)) return;
  const { stopReason, finishReason, usage, steps, message } = reply;
  const call = { id, stopReason, finishReason, usage, steps, messageId: message?.id };
  const earlier = finishedCalls(state).filter((other) => other.id !== id);
  // What is undefined has no place in JSON.
  const finished = JSON.parse(JSON.stringify([...earlier, call].slice(-REMEMBERED_CALLS)));
  state.extensions[EXTENSION] = { finished };
}

/** Answers what a call of this id is a repeat of: the reply of the one that has ended, or else what was not said yet. */
export async function repeatOf(
  call: RunningCall,
  id: string | undefined,
  input: readonly Message[],
): Promise<{ readonly earlier?: Reply | undefined; readonly unsaid: readonly Message[] }> {
  if (id === undefined) return { unsaid: input };
  const earlier = await replyOfFinished(call, id, input);
  return { earlier, unsaid: earlier === undefined ? await unsaidOf(call, input) : [] };
}

/**
 * Answers the reply that a call of this id had; `undefined` when none has ended. Its message may be in the log alone.
 *
 * @throws {InvalidInputError} when a message of that call said something else.
 */
async function replyOfFinished(
  call: RunningCall,
  id: string,
  input: readonly Message[],
): Promise<Reply | undefined> {
  const { state } = call.scope;
  const found = finishedCalls(state).find((finished) => finished.id === id);
  if (found === undefined) return undefined;
  for (const message of input) await refuseOther(call, message);
  const { id: _, messageId, ...known } = found;
  const message =
    messageId === undefined
      ? undefined
      : (state.context.find((each) => each.id === messageId) ?? (await call.logged(messageId)));
  const { output } = call.options;
  // Read again, as not all that a schema makes of an answer has a place in JSON.
  if (known.stopReason === 'completed') await call.waitFor('output', () => output?.read(message));
  return replyOf({
    ...known,
    sessionId: state.sessionId,
    text: message === undefined ? '' : textOf(message),
    message,
    pendingCalls: known.stopReason === 'permission_required' ? pendingCalls(state) : [],
    output: output?.value,
  });
}

/** Leaves out what the conversation holds already, since an earlier attempt of the same call said it. */
async function unsaidOf(call: RunningCall, input: readonly Message[]): Promise<readonly Message[]> {
  const { state } = call.scope;
  const said = new Set(state.context.map(({ id }) => id));
  const unsaid: Message[] = [];
  for (const message of input) {
    // Where the earlier attempt did not end, a compaction may have taken it out of the conversation.
    const isSaid = said.has(message.id) || (state.activeCall && (await call.logged(message.id)));
    if (isSaid) await refuseOther(call, message);
    else unsaid.push(message);
  }
  return unsaid;
}

/** An id stands for what was said under it: whoever says something else would take the answer to that for their own. */
async function refuseOther(call: RunningCall, { id, content }: Message): Promise<void> {
  const said = await call.logged(id);
  const isSame = said === undefined || isDeepStrictEqual(JSON.parse(JSON.stringify(content)), said.content);
  if (isSame) return;
  throw new InvalidInputError('input of the call', [
    {
      path: 'id',
      message: `${JSON.stringify(id)} is of another message in this session; say it under an id of its own`,
    },
  ]);
}

function finishedCalls(state: AgentState): readonly FinishedCall[] {
  const { finished } = state.extensions[EXTENSION] ?? {};
  return Array.isArray(finished)
    ? (finished.filter((call) => isObject(call)) as unknown as FinishedCall[])
    : [];
}
