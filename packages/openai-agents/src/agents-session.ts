import {
  type AgentInputItem,
  type OpenAIResponsesCompactionArgs,
  type OpenAIResponsesCompactionAwareSession,
  type OpenAIResponsesCompactionResult,
  RequestUsage,
  type SessionHistoryRewriteArgs,
  type SessionHistoryRewriteAwareSession,
} from '@openai/agents';
import {
  type CompactionOutcome,
  type Compactor,
  InvalidInputError,
  parseWith,
  SessionConflictError,
  type SessionKey,
  type SessionStore,
} from '@x/core';
import { z } from 'zod';
import { HistoryCompaction } from './compaction/compact-history.js';
import { planMutations } from './history-mutations.js';
import { type HistoryTransactionArgs, planTransaction } from './history-transaction.js';
import { StoredHistory } from './stored-history.js';
import { fromStored, toStored } from './stored-item.js';

export interface AgentsSessionOptions {
  /** Where the items live; the session never closes it. */
  readonly store: SessionStore;
  /** Whose session it is. No item of one key can be read or changed under another. */
  readonly key: SessionKey;
  /** Reduces what is stored after a turn, when it is due: the next run begins with less. Default: nothing is reduced. */
  readonly compactor?: Compactor | undefined;
  /** Told of every run of the compactor. */
  readonly onCompaction?: ((outcome: CompactionOutcome) => void) | undefined;
}

const optionsSchema = z.strictObject({
  store: z.custom<SessionStore>(
    (value) => typeof (value as SessionStore | undefined)?.commit === 'function',
    'must be a SessionStore',
  ),
  key: z.custom<SessionKey>(
    (value) => typeof (value as SessionKey | undefined)?.isWithin === 'function',
    'must be a SessionKey; use SessionKey.of',
  ),
  compactor: z
    .custom<Compactor>(
      (value) => typeof (value as Compactor | undefined)?.compact === 'function',
      'must be a Compactor',
    )
    .optional(),
  onCompaction: z
    .custom<(outcome: CompactionOutcome) => void>(
      (value) => typeof value === 'function',
      'must be a function',
    )
    .optional(),
});

/**
 * A session of the OpenAI Agents SDK in any session store: `run(agent, input, { session })`. Items are kept whole, one
 * message of the store each; writers of one session, in any process, never lose each other's items.
 */
export class AgentsSession
  implements SessionHistoryRewriteAwareSession, OpenAIResponsesCompactionAwareSession
{
  readonly #id: string;
  readonly #history: StoredHistory;
  readonly #compactor: Compactor | undefined;
  readonly #onCompaction: ((outcome: CompactionOutcome) => void) | undefined;

  /** @throws {InvalidInputError} naming an option that is missing, unknown or wrong. */
  constructor(options: AgentsSessionOptions) {
    const { store, key, compactor, onCompaction } = parseWith(optionsSchema, options, 'AgentsSessionOptions');
    this.#id = key.toString();
    this.#history = new StoredHistory(store, key);
    this.#compactor = compactor;
    this.#onCompaction = onCompaction;
  }

  /** The whole key as text: two users' sessions of one name have different ids. */
  async getSessionId(): Promise<string> {
    return this.#id;
  }

  /**
   * The items of the session in their order.
   *
   * @param limit only so many of the last ones; all, unless given
   */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return [];
    const { messages } = await this.#history.read();
    const wanted = limit === undefined ? messages : messages.slice(-limit);
    return wanted.map((message) => fromStored(message, this.#id));
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    if (items.length === 0) return;
    await this.#history.append(items.map(toStored));
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    const change = await this.#history.change(({ messages }) => {
      const last = messages.at(-1);
      if (last === undefined) return undefined;
      return { keep: messages.length - 1, append: [], popped: fromStored(last, this.#id) };
    });
    return change?.popped;
  }

  /** Removes all items. The session stays, empty; `store.delete(key)` removes that too. */
  async clearSession(): Promise<void> {
    await this.#history.change(({ messages, operations }) =>
      messages.length + operations.length === 0 ? undefined : { keep: 0, append: [], operations: [] },
    );
  }

  /**
   * Appends items or replaces the end of the history in one commit together with the operation's id, so that a
   * repetition changes nothing, also in another process. The newest 256 operations are remembered.
   *
   * @throws {InvalidInputError} when the id stands for another transaction, or the end of the history is another.
   */
  async applyHistoryTransaction(args: HistoryTransactionArgs): Promise<void> {
    await this.#history.change((history) => planTransaction(args, history, this.#id));
  }

  /** Replaces function calls in place: what the runner does when a human changed one before approving it. */
  async applyHistoryMutations({ mutations }: SessionHistoryRewriteArgs): Promise<void> {
    await this.#history.change(({ messages }) => planMutations(mutations, messages, this.#id));
  }

  /** Replaces the whole history in one commit: what the runner does with a model's own compaction. */
  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    await this.#history.change(() => ({ keep: 0, append: items.map(toStored) }));
  }

  /**
   * Reduces the history when it is due, or with `force` whatever its size; the runner calls it after every turn. What
   * others add meanwhile stays behind it. A reduction that fails, or that no items can say, changes nothing.
   *
   * @returns what the compactor's own model calls cost, or `null` when there were none.
   */
  async runCompaction({
    force = false,
  }: OpenAIResponsesCompactionArgs = {}): Promise<OpenAIResponsesCompactionResult | null> {
    if (this.#compactor === undefined) return null;
    const compaction = new HistoryCompaction(
      this.#compactor,
      force ? 'manual' : 'proactive_budget',
      this.#id,
    );
    const outcome = await this.#compacted(compaction);
    if (outcome !== undefined) this.#onCompaction?.(outcome);
    if (outcome?.usage === undefined) return null;
    const { inputTokens, outputTokens } = outcome.usage;
    const totalTokens = inputTokens + outputTokens;
    return { usage: new RequestUsage({ inputTokens, outputTokens, totalTokens, endpoint: 'compaction' }) };
  }

  async #compacted(compaction: HistoryCompaction): Promise<CompactionOutcome | undefined> {
    try {
      await this.#history.change(({ messages }) => compaction.plan(messages));
      return compaction.outcome;
    } catch (error) {
      // Others write all the time, or the result has no form: the history is as it was, and there is a next turn.
      const known = SessionConflictError.isInstance(error) || InvalidInputError.isInstance(error);
      if (!known || compaction.outcome === undefined) throw error;
      return { ...compaction.outcome, status: 'failed', reason: error.message };
    }
  }
}
