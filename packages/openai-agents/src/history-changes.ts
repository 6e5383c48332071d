import type { AgentInputItem, SessionHistoryMutation } from '@openai/agents';
import { InvalidInputError, type ItemLog, type JsonObject, type Message } from '@x/core';
import { digest, type ItemChange, type ItemHistory, parseWith, sortedJson } from '@x/core/internal';
import * as z from 'zod';
import { toJson, toStored } from './stored-item.js';

const items = z.array(z.custom<AgentInputItem>()).readonly();
// Unknown fields are rejected, because they could request a change that this version would not make.
const argsSchema = z.object({
  /** A repeated transaction has the same id. */
  operationId: z.string().regex(/\S/, 'must be a non-blank string'),
  transaction: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('append_items'), items }),
    z.strictObject({ type: z.literal('replace_suffix'), expectedSuffix: items, replacement: items }),
  ]),
});

/** A history change as SDK versions after 0.14.0 request it. The type is declared here, so that earlier versions work too. */
export type HistoryTransactionArgs = z.input<typeof argsSchema>;

/** Number of transactions that a session remembers to recognize repetitions. */
const REMEMBERED = 256;

const SUBJECT = 'session history transaction';
const UNCHANGED = 'Nothing was changed.';

/** The applied transactions, oldest first: the operation's id and a digest of each. */
type Operations = readonly (readonly [operationId: string, digest: string])[];

/**
 * Reads the fields of a transaction, each once. Errors of getters are not passed on, because they could quote an item.
 *
 * @throws {InvalidInputError} if a field is missing, unknown or wrong, cannot be read, or cannot be represented as JSON.
 */
export function readTransaction(args: HistoryTransactionArgs): HistoryTransactionArgs {
  try {
    const read = parseWith(argsSchema, args, SUBJECT, UNCHANGED);
    toJson(read.transaction, 'transaction');
    return read;
  } catch (error) {
    throw InvalidInputError.isInstance(error) ? error : refusal('', 'cannot be read');
  }
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
  const said = digest(sortedJson(toJson(transaction)));
  const before = (state.operations ?? []) as unknown as Operations;
  const known = before.find(([id]) => id === operationId);
  if (known?.[1] === said) return undefined;
  if (known !== undefined) throw refusal('operationId', 'was already used for another transaction');

  const operations = [...before, [operationId, said] as const].slice(-REMEMBERED);
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

function refusal(path: string, message: string): InvalidInputError {
  return new InvalidInputError(SUBJECT, [{ path, message }], { remedy: UNCHANGED });
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
