import { createHash } from 'node:crypto';
import type { AgentInputItem, SessionHistoryMutation } from '@openai/agents';
import { InvalidInputError, type ItemLog, type JsonObject, type Message } from '@x/core';
import { type ItemChange, type ItemHistory, sortedJson } from '@x/core/internal';
import { toJson, toStored } from './stored-item.js';

/** A change of a history, as the SDK asks for it after 0.14.0; described here, so that earlier versions fit, too. */
export type HistoryTransaction =
  | { readonly type: 'append_items'; readonly items: readonly AgentInputItem[] }
  | {
      readonly type: 'replace_suffix';
      readonly expectedSuffix: readonly AgentInputItem[];
      readonly replacement: readonly AgentInputItem[];
    };

/** A transaction with the id that stays the same when it is repeated. */
export interface HistoryTransactionArgs {
  readonly operationId: string;
  readonly transaction: HistoryTransaction;
}

/** How many transactions a session remembers to recognize when they are repeated. */
const REMEMBERED = 256;

/** Transactions that were applied, oldest first: a digest of each by its operation's id. */
type Operations = readonly (readonly [operationId: string, digest: string])[];

/**
 * Reads what a transaction is, each field once: an error of a getter could quote an item.
 *
 * @throws {InvalidInputError} for what cannot be read, or holds what JSON cannot.
 */
export function readTransaction(args: HistoryTransactionArgs): HistoryTransactionArgs {
  let read: HistoryTransactionArgs;
  try {
    const { operationId, transaction } = args;
    read = { operationId, transaction };
  } catch {
    throw refusal('', 'cannot be read');
  }
  toJson(read.transaction, 'transaction');
  return read;
}

/**
 * What a transaction changes, or `undefined` when it has been applied before.
 *
 * @throws {InvalidInputError} when the operation's id already belongs to another transaction, or the suffix that is to
 * be replaced is not the end of the history. Nothing is changed then.
 */
export function planTransaction(
  { operationId, transaction }: HistoryTransactionArgs,
  { messages, state }: ItemHistory,
  log: ItemLog,
): ItemChange | undefined {
  if (typeof operationId !== 'string' || operationId.trim() === '') {
    throw refusal('operationId', 'must be a text that is not blank');
  }
  refuseUnknownFields(transaction);
  const digest = digestOf(transaction);
  const before = (state.operations ?? []) as unknown as Operations;
  const known = before.find(([id]) => id === operationId);
  if (known?.[1] === digest) return undefined;
  if (known !== undefined) throw refusal('operationId', 'was used for another transaction before');

  const operations = [...before, [operationId, digest] as const].slice(-REMEMBERED);
  const stateAfter = { ...state, operations } as unknown as JsonObject;
  const stored = (items: readonly AgentInputItem[]) => items.map((item) => toStored(log, item));
  if (transaction.type === 'append_items') {
    return { keep: messages.length, append: stored(transaction.items), state: stateAfter };
  }
  const { expectedSuffix, replacement } = transaction;
  const keep = messages.length - expectedSuffix.length;
  const matches =
    keep >= 0 &&
    expectedSuffix.every((item, index) => {
      const message = messages[keep + index];
      return message !== undefined && sortedJson(log.item(message)) === sortedJson(toJson(item));
    });
  if (!matches) throw refusal('transaction.expectedSuffix', 'is no longer the end of the history');
  return { keep, append: stored(replacement), state: stateAfter };
}

const FIELDS: { readonly [type: string]: readonly string[] } = {
  append_items: ['items'],
  replace_suffix: ['expectedSuffix', 'replacement'],
};

/** A field that this version does not know could mean a change that it would not make. */
function refuseUnknownFields(transaction: HistoryTransaction): void {
  const fields = FIELDS[transaction.type];
  if (fields === undefined) throw refusal('transaction.type', `must be ${Object.keys(FIELDS).join(' or ')}`);
  for (const [field, value] of Object.entries(transaction)) {
    if (field === 'type') continue;
    if (!fields.includes(field)) throw refusal(`transaction.${field}`, 'is not known');
    if (!Array.isArray(value)) throw refusal(`transaction.${field}`, 'must be a list of items');
  }
  for (const field of fields)
    if (!(field in transaction)) throw refusal(`transaction.${field}`, 'is missing');
}

function digestOf(transaction: HistoryTransaction): string {
  return createHash('sha256')
    .update(sortedJson(toJson(transaction)))
    .digest('base64url');
}

function refusal(path: string, message: string): InvalidInputError {
  return new InvalidInputError('session history transaction', [{ path, message }], {
    remedy: 'Nothing was changed.',
  });
}

/** What mutations change: the first call of an id becomes the replacement, further ones of the same id go. */
export function planMutations(
  mutations: readonly SessionHistoryMutation[],
  messages: readonly Message[],
  log: ItemLog,
): ItemChange | undefined {
  let changed = messages;
  for (const { callId, replacement } of mutations) {
    const isCall = (message: Message) => {
      const item = log.item(message);
      return item.type === 'function_call' && item.callId === callId;
    };
    const first = changed.findIndex(isCall);
    changed = changed
      .map((message, index) => (index === first ? toStored(log, replacement) : message))
      .filter((message, index) => index <= first || first === -1 || !isCall(message));
  }
  const keep = messages.findIndex((message, index) => message !== changed[index]);
  return keep === -1 ? undefined : { keep, append: changed.slice(keep) };
}
