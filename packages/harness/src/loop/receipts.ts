import { randomUUID } from 'node:crypto';
import type { AgentState, StopReason } from '@x/core';
import { isObject, type LogNote } from '@x/core/internal';
import type { Reply } from '../agent/call-options.js';

const EXTENSION = 'calls';
/** Number of receipts in a session's head, for clients that repeat a call whose reply they did not get. Older receipts are in the log. */
const CARRIED = 8;
/** Maximum number of unfinished calls in a session's head, for sessions whose calls never end. */
const MAX_OPEN = 32;
/** Stop reasons of calls that can be continued. */
const UNFINISHED: readonly StopReason[] = ['interrupted', 'shutdown', 'timed_out', 'permission_required'];

/** Ids of one call: those of its messages, in order, and its own. */
export type CallIds = readonly string[];

/** The outcome of a call, for a repetition of the call. */
export interface Receipt extends Pick<Reply, 'stopReason' | 'finishReason' | 'usage' | 'steps'> {
  readonly ids: CallIds;
  /** Id of the last assistant message. */
  readonly messageId?: string | undefined;
}

/** The calls recorded in a session's head. The record is committed together with the messages of the calls. */
interface Calls {
  /** Calls without a receipt, the latest last. */
  readonly open: readonly CallIds[];
  readonly finished: readonly Receipt[];
  /**
   * Identifies the receipts of this session in its log; `undefined` before the first receipt. If a session is deleted and created again, it
   * has another mark, although the old log may still exist.
   */
  readonly mark?: string | undefined;
}

/**
 * Records the ids of new messages of a call. Returns all ids of the call, because a running call may get more messages.
 *
 * @param own The ids of the call so far.
 */
export function openReceipt(state: AgentState, own: CallIds, said: CallIds): CallIds {
  const ids = [...own, ...said];
  if (ids.length === 0) return ids;
  const { open, ...rest } = callsOf(state);
  const others = open.filter((one) => !sharesId(one, ids));
  const earlier = open.filter((one) => !others.includes(one));
  const all = [...new Set([...earlier.flat(), ...ids])];
  keep(state, { ...rest, open: [...others, all] });
  return all;
}

/** Continues the call with this id, or the last one without a receipt. Returns its ids. */
export function resumeReceipt(state: AgentState, id: string | undefined): CallIds {
  const own = id === undefined ? callsOf(state).open.at(-1) : [id];
  return openReceipt(state, own ?? [], []);
}

/** Records how a call ended. Earlier unanswered calls are settled too: the reply came after their messages. */
export function settleReceipts(state: AgentState, own: CallIds, reply: Reply): void {
  if (UNFINISHED.includes(reply.stopReason)) return;
  const { open, finished, mark } = callsOf(state);
  const { stopReason, finishReason, usage, steps, message } = reply;
  const messageId = message?.id;
  const receipts = open.map((ids): Receipt => {
    if (sharesId(ids, own)) return { ids, stopReason, finishReason, usage, steps, messageId };
    return { ids, ...SUPERSEDED, finishReason, messageId };
  });
  keep(state, { open: [], finished: [...finished, ...receipts], mark });
}

/** The outcome of a call whose message was answered by another call. The other call's reply has the usage. */
export const SUPERSEDED = {
  stopReason: 'superseded',
  usage: { inputTokens: 0, outputTokens: 0 },
  steps: 0,
} as const;

/**
 * Moves surplus receipts from the head to the log. Call `done` once the log is written, because receipts that a commit omits must be in the
 * log.
 */
export function spareReceipts(state: AgentState): { readonly notes: readonly LogNote[]; done(): void } {
  const { open, finished, mark = randomUUID() } = callsOf(state);
  const given = open.slice(0, -MAX_OPEN).map((ids): Receipt => ({ ids, ...SUPERSEDED }));
  const spare = [...finished.slice(0, -CARRIED), ...given];
  return {
    notes: spare.map(({ ids, ...data }) => ({ ids, data: JSON.parse(JSON.stringify({ ...data, mark })) })),
    done() {
      if (spare.length === 0) return;
      const now = callsOf(state);
      const isLeft = (ids: CallIds) => !spare.some((one) => sharesId(one.ids, ids));
      const finished = now.finished.filter(({ ids }) => isLeft(ids));
      keep(state, { open: now.open.filter(isLeft), finished, mark });
    },
  };
}

/** Returns whether a call with this id has begun and has no receipt. */
export function isOpenCall(state: AgentState, id: string): boolean {
  return callsOf(state).open.some((ids) => ids.includes(id));
}

function sharesId(left: CallIds, right: CallIds): boolean {
  return left.some((id) => right.includes(id));
}

function keep(state: AgentState, { open, finished, mark }: Calls): void {
  if (open.length + finished.length === 0) delete state.extensions[EXTENSION];
  // Removes undefined values, which JSON cannot represent.
  else state.extensions[EXTENSION] = JSON.parse(JSON.stringify({ open, finished, mark }));
}

/** Reads the recorded calls. Validates them, because programs can write anything into a state. */
export function callsOf(state: AgentState): Calls {
  const { open, finished, mark } = state.extensions[EXTENSION] ?? {};
  return {
    mark: typeof mark === 'string' ? mark : undefined,
    open: Array.isArray(open) ? open.filter(isIds) : [],
    finished: Array.isArray(finished) ? finished.filter(isReceipt) : [],
  };
}

function isIds(value: unknown): value is CallIds {
  return Array.isArray(value) && value.every((id) => typeof id === 'string');
}

export function isReceipt(value: unknown): value is Receipt {
  return isObject(value) && isIds(value.ids) && typeof value.stopReason === 'string';
}
