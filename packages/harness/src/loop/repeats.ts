import { isDeepStrictEqual } from 'node:util';
import { type AgentState, InvalidInputError, type Message, textOf } from '@x/core';
import { type Reply, replyOf } from '../agent/call-options.js';
import { openCalls } from './open-calls.js';
import { type CallIds, callsOf, isOpenCall, isReceipt, type Receipt, SUPERSEDED } from './receipts.js';
import type { RunningCall } from './running-call.js';

/** Checks whether a call repeats an earlier one. Returns the reply of an ended call, or the messages that are new. */
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
  // The call failed after its answer, for example in a hook.
  const known = { ids: open, stopReason: 'completed', finishReason: 'stop', messageId: answer.id } as const;
  return { earlier: await replyOfReceipt(call, { ...SUPERSEDED, ...known }), unsaid };
}

/** Returns the complete answer that a conversation ends with, if any. */
function answerIn(state: AgentState): Message | undefined {
  const last = state.context.at(-1);
  const isWhole = last?.role === 'assistant' && last.metadata?.interrupted === undefined;
  return isWhole && state.activeCall === undefined && openCalls(state.context).length === 0
    ? last
    : undefined;
}

/** Finds the receipt of a call. The session's head takes precedence over the log, which may be newer than the session. */
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

/** Rebuilds the reply of a receipt. Its message may be only in the log. */
async function replyOfReceipt(call: RunningCall, receipt: Receipt): Promise<Reply> {
  const { state } = call.scope;
  const { ids: _, messageId, ...known } = receipt;
  const message = messageId === undefined ? undefined : await said(call, messageId);
  const { output } = call.options;
  // Parsed again, because JSON cannot represent every value that a schema produces.
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
 * Removes messages that are already in the session, whichever call added them.
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
 * Compares an input with the messages of a call, by id or by position, and returns the new ones. Throws if a message differs from the one
 * sent under the same id, because the stored reply answers the other message.
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

/** Finds a message in its original form. A compaction may have changed it in the conversation. */
async function said(call: RunningCall, id: string | undefined): Promise<Message | undefined> {
  if (id === undefined) return undefined;
  return (await call.logged(id)) ?? call.scope.state.context.find((message) => message.id === id);
}
