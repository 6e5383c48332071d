import { createHash } from 'node:crypto';
import type { AgentInputItem } from '@openai/agents';
import { InvalidInputError, type JsonObject, type JsonValue, type Message } from '@x/core';
import { toJson } from './item-json.js';
import { dataOf, toStored } from './stored-item.js';

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
export type Operations = readonly (readonly [operationId: string, digest: string])[];

/** What a transaction makes of a history. */
export interface TransactionChange {
  readonly keep: number;
  readonly append: readonly Message[];
  readonly operations: Operations;
}

/**
 * What a transaction changes, or `undefined` when it has been applied before.
 *
 * @throws {InvalidInputError} when the operation's id stands for another transaction already, or the suffix that is to
 * be replaced is not the end of the history. Nothing is changed then.
 */
export function planTransaction(
  { operationId, transaction }: HistoryTransactionArgs,
  history: { readonly messages: readonly Message[]; readonly operations: Operations },
  sessionKey: string,
): TransactionChange | undefined {
  if (typeof operationId !== 'string' || operationId.trim() === '') {
    throw refusal('operationId', 'must be a text that is not blank');
  }
  const digest = digestOf(transaction);
  const known = history.operations.find(([id]) => id === operationId);
  if (known?.[1] === digest) return undefined;
  if (known !== undefined) throw refusal('operationId', 'was used for another transaction before');

  const operations = [...history.operations, [operationId, digest] as const].slice(-REMEMBERED);
  const { messages } = history;
  if (transaction.type === 'append_items') {
    return { keep: messages.length, append: transaction.items.map(toStored), operations };
  }
  const { expectedSuffix, replacement } = transaction;
  const keep = messages.length - expectedSuffix.length;
  const matches =
    keep >= 0 &&
    expectedSuffix.every((item, index) => {
      const message = messages[keep + index];
      return message !== undefined && canonical(dataOf(message, sessionKey)) === canonical(toJson(item));
    });
  if (!matches) throw refusal('transaction.expectedSuffix', 'is not the end of the history any more');
  return { keep, append: replacement.map(toStored), operations };
}

function digestOf(transaction: HistoryTransaction): string {
  return createHash('sha256')
    .update(canonical(toJson(transaction)))
    .digest('base64url');
}

/** JSON with sorted keys: equal for equal values. */
function canonical(value: JsonValue): string {
  return JSON.stringify(value, (_, child: JsonValue) =>
    typeof child === 'object' && child !== null && !Array.isArray(child)
      ? Object.fromEntries(Object.entries(child as JsonObject).sort(([a], [b]) => (a < b ? -1 : 1)))
      : child,
  );
}

function refusal(path: string, message: string): InvalidInputError {
  return new InvalidInputError('session history transaction', [{ path, message }], {
    remedy: 'Nothing was changed.',
  });
}
