import { isDeepStrictEqual } from 'node:util';
import { type AgentState, InvalidInputError, type Message, textOf } from '@x/core';
import { type Reply, replyOf } from '../agent/call-options.js';
import { openCalls } from './open-calls.js';
import { type CallIds, callsOf, isOpenCall, isReceipt, type Receipt, SUPERSEDED } from './receipts.js';
import type { RunningCall } from './running-call.js';

/** Returns what a call of this id repeats: the reply of an ended call, or the messages that are new. */
export async function repeatOf(
  call: RunningCall,
  id: string | undefined,
  input: readonly Message[],
): Promise<{ readonly earlier?: Reply | undefined; readonly unsaid: readonly Message[] }> {
  if (id === undefined) return { unsaid: input };
  const { state } = call.scope;
  const receipt = await findReceipt(call, id);
  if (receipt !== undefined) {
    await refuseOther(call, input, receipt.ids);
    return { earlier: await replyOfReceipt(call, receipt), unsaid: [] };
  }
  const open = callsOf(state).open.find((ids) => ids.includes(id));
  if (open === undefined) return { unsaid: await unsaidOf(call, input, id) };
  const unsaid = await refuseOther(call, input, open);
  const answer = unsaid.length === 0 ? answerIn(state) : undefined;
  if (answer === undefined) return { unsaid };
  // It failed behind its answer, as a hook may.
  const known = { ids: open, stopReason: 'completed', finishReason: 'stop', messageId: answer.id } as const;
  return { earlier: await replyOfReceipt(call, { ...SUPERSEDED, ...known }), unsaid };
}

/** Finds the whole answer that a conversation ends with. */
function answerIn(state: AgentState): Message | undefined {
  const last = state.context.at(-1);
  const isWhole = last?.role === 'assistant' && last.metadata?.interrupted === undefined;
  return isWhole && state.activeCall === undefined && openCalls(state.context).length === 0
    ? last
    : undefined;
}

/** What a session carries of its last calls comes before what its log says: that may be ahead of the session. */
async function findReceipt(call: RunningCall, id: string): Promise<Receipt | undefined> {
  const { open, finished, mark } = callsOf(call.scope.state);
  const carried = finished.findLast(({ ids }) => ids.includes(id));
  if (carried !== undefined || open.some((ids) => ids.includes(id))) return carried;
  const { ids, data } = (mark && (await call.noted(id))) || {};
  const { mark: itsMark, ...outcome } = data ?? {};
  if (itsMark !== mark) return undefined;
  const receipt = { ...outcome, ids };
  return isReceipt(receipt) ? receipt : undefined;
}

/** Makes the reply of a receipt. Its message may be in the log alone. */
async function replyOfReceipt(call: RunningCall, receipt: Receipt): Promise<Reply> {
  const { state } = call.scope;
  const { ids: _, messageId, ...known } = receipt;
  const message = messageId === undefined ? undefined : await said(call, messageId);
  const { output } = call.options;
  // Read again, as not all that a schema makes of an answer has a place in JSON.
  if (known.stopReason === 'completed') await call.waitFor('output', () => output?.read(message));
  return replyOf({
    ...known,
    sessionId: state.sessionId,
    text: message === undefined ? '' : textOf(message),
    message,
    output: output?.value,
  });
}

/**
 * Leaves out what was said already, by whichever call.
 *
 * @param fresh An id that is known to be new.
 */
export async function unsaidOf(
  call: RunningCall,
  input: readonly Message[],
  fresh?: string,
): Promise<readonly Message[]> {
  const { state } = call.scope;
  const inContext = new Set(state.context.map(({ id }) => id));
  const unsaid: Message[] = [];
  for (const message of input) {
    const { id } = message;
    const isKnown = isOpenCall(state, id) || (id !== fresh && (await findReceipt(call, id)) !== undefined);
    const isSaid = inContext.has(id) || isKnown;
    if (isSaid) await refuseOther(call, [message], [id]);
    else unsaid.push(message);
  }
  return unsaid;
}

/**
 * Compares an input with what a call said, by id or else by place, and answers what of it is new. An id stands for what was said under
 * it: whoever says something else would take the answer to that for their own.
 */
async function refuseOther(
  call: RunningCall,
  input: readonly Message[],
  ids: CallIds,
): Promise<readonly Message[]> {
  const unsaid: Message[] = [];
  let place = 0;
  for (const message of input) {
    const other = message.role === 'user' ? ids[place++] : undefined;
    const earlier = (await said(call, message.id)) ?? (await said(call, other));
    if (earlier === undefined) unsaid.push(message);
    else if (!isDeepStrictEqual(JSON.parse(JSON.stringify(message.content)), earlier.content)) {
      const text = `${JSON.stringify(message.id)} belongs to another message of this session; use a different id`;
      throw new InvalidInputError('input of the call', [{ path: 'id', message: text }]);
    }
  }
  return unsaid;
}

/** Finds a message as it was said: a compaction may have altered it in the conversation. */
async function said(call: RunningCall, id: string | undefined): Promise<Message | undefined> {
  if (id === undefined) return undefined;
  return (await call.logged(id)) ?? call.scope.state.context.find((message) => message.id === id);
}
