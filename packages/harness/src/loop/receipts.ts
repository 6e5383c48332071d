import { randomUUID } from 'node:crypto';
import type { AgentState, StopReason } from '@x/core';
import { isObject, type LogNote } from '@x/core/internal';
import type { Reply } from '../agent/call-options.js';

const EXTENSION = 'calls';
/** How many receipts a session carries: a client repeats the call whose reply it did not get. The log has those before. */
const CARRIED = 8;
/** Calls without a receipt that a session carries, where none of many calls comes to an end. */
const MAX_OPEN = 32;
/** Calls that stopped for these reasons are gone on with. */
const UNFINISHED: readonly StopReason[] = ['interrupted', 'shutdown', 'timed_out', 'permission_required'];

/** Ids of one call: those of the messages that it said, in order, and its own. */
export type CallIds = readonly string[];

/** The outcome of a call, for its repetition. */
export interface Receipt extends Pick<Reply, 'stopReason' | 'finishReason' | 'usage' | 'steps'> {
  readonly ids: CallIds;
  /** Of the last assistant message. */
  readonly messageId?: string | undefined;
}

/** The calls of a session that its head knows. What is known of a call is committed with what the call said and did. */
interface Calls {
  /** Those that have been said and have no receipt, the last one last. */
  readonly open: readonly CallIds[];
  readonly finished: readonly Receipt[];
  /**
   * Marks the receipts of this session in its log; none before one is there. A session that was deleted and begun again has another, though
   * its log may still be there.
   */
  readonly mark?: string | undefined;
}

/**
 * Remembers under which ids something is said, and answers all ids of the call: of a call that runs, more may be said.
 *
 * @param own The ids that the call has so far.
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

/** Continues a call, the one of this id or the last one without a receipt, and returns its ids. */
export function resumeReceipt(state: AgentState, id: string | undefined): CallIds {
  const own = id === undefined ? callsOf(state).open.at(-1) : [id];
  return openReceipt(state, own ?? [], []);
}

/** Remembers how the call of these ids ended. Others that have been said and not answered have its reply, too: it came after them. */
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

/** The outcome of a call that another one answered: the reply of that one has the tokens. */
export const SUPERSEDED = {
  stopReason: 'superseded',
  usage: { inputTokens: 0, outputTokens: 0 },
  steps: 0,
} as const;

/**
 * Takes out of the head what is too much for it, for the log. Call `done` when the log has it: what a commit leaves out must
 * be found there.
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

/** Returns whether a call of this id has begun and has no receipt. */
export function isOpenCall(state: AgentState, id: string): boolean {
  return callsOf(state).open.some((ids) => ids.includes(id));
}

function sharesId(left: CallIds, right: CallIds): boolean {
  return left.some((id) => right.includes(id));
}

function keep(state: AgentState, { open, finished, mark }: Calls): void {
  if (open.length + finished.length === 0) delete state.extensions[EXTENSION];
  // What is undefined has no place in JSON.
  else state.extensions[EXTENSION] = JSON.parse(JSON.stringify({ open, finished, mark }));
}

/** Programs may write what they like into a state. */
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
