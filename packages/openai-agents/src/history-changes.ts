import { createHash } from 'node:crypto';
import type { AgentInputItem, SessionHistoryMutation } from '@openai/agents';
import { InvalidInputError, type ItemLog, type JsonObject, type Message } from '@x/core';
import { type ItemChange, type ItemHistory, sortedJson } from '@x/core/internal';
import { toJson, toStored } from './stored-item.js';

/** A history change as SDK versions after 0.14.0 request it. The type is declared here, so that earlier versions work too. */
export type HistoryTransaction =
  | { readonly type: 'append_items'; readonly items: readonly AgentInputItem[] }
  | {
      readonly type: 'replace_suffix';
      readonly expectedSuffix: readonly AgentInputItem[];
      readonly replacement: readonly AgentInputItem[];
    };

/** A transaction with its id. A repeated transaction has the same id. */
export interface HistoryTransactionArgs {
  readonly operationId: string;
  readonly transaction: HistoryTransaction;
}

/** Number of transactions that a session remembers to recognize repetitions. */
const REMEMBERED = 256;

/** The applied transactions, oldest first: the operation's id and a digest of each. */
type Operations = readonly (readonly [operationId: string, digest: string])[];

/**
 * Reads the fields of a transaction, each once. Errors of getters are not passed on, because they could quote an item.
 *
 * @throws {InvalidInputError} if a field cannot be read, or cannot be represented as JSON.
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
 * Returns the change of a transaction, or `undefined` if it was applied before.
 *
 * @throws {InvalidInputError} if the operation's id belongs to another transaction, or if the suffix to replace is not the end of the
 * history. Nothing is changed then.
 */
export function planTransaction(
  { operationId, transaction }: HistoryTransactionArgs,
  { messages, state }: ItemHistory,
  log: ItemLog,
): ItemChange | undefined {
  if (typeof operationId !== 'string' || operationId.trim() === '') {
    throw refusal('operationId', 'must be a non-blank string');
  }
  refuseUnknownFields(transaction);
  const digest = digestOf(transaction);
  const before = (state.operations ?? []) as unknown as Operations;
  const known = before.find(([id]) => id === operationId);
  if (known?.[1] === digest) return undefined;
  if (known !== undefined) throw refusal('operationId', 'was already used for another transaction');

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

/** Rejects unknown fields, because they could request a change that this version would not make. */
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

/** Returns the change of mutations: replaces the first call with an id, and removes further calls with the same id. */
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
