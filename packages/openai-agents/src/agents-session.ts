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
  ItemLog,
  type SessionKey,
  type SessionStore,
  type Usage,
} from '@x/core';
import { callable, having, notify, parseWith, RecentMap } from '@x/core/internal';
import * as z from 'zod';
import { compactHistory } from './compaction.js';
import {
  type HistoryTransactionArgs,
  planMutations,
  planTransaction,
  readTransaction,
} from './history-changes.js';
import { FRAMEWORK, fromStored, toStored } from './stored-item.js';

/** Returns the session key for a run's context. The context is `undefined` if the SDK calls the session outside of a run. */
export type KeyOfRun = (context: unknown) => SessionKey;

const optionsSchema = z.strictObject({
  /** The store of the items. The session never closes it. */
  store: having<SessionStore>('commit', 'a SessionStore'),
  /**
   * The session's key, or a function that returns it for the context of a run. With a function, one session object serves all tenants and
   * users. Items of one key cannot be read or changed under another key. A function requires SDK 0.17 or later, which passes the context.
   */
  key: z.custom<SessionKey | KeyOfRun>(
    (value) =>
      typeof value === 'function' || typeof (value as SessionKey | undefined)?.isWithin === 'function',
    'must be a SessionKey (use SessionKey.of) or a function that returns one',
  ),
  /** Compacts the stored history after a turn if that is due, so that the next run starts smaller. Default: no compaction. */
  compactor: z.optional(having<Compactor>('compact', 'a Compactor')),
  /** Receives the outcome of every compaction that was not skipped. */
  onCompaction: z.optional(callable<(outcome: CompactionOutcome) => void>()),
  /** Receives the usage of each model call of the compactor when the call ends, also of calls that end after the compaction. */
  onUsage: z.optional(callable<(usage: Usage) => void>()),
});

export type AgentsSessionOptions = Readonly<z.input<typeof optionsSchema>>;

/** Maximum number of sessions cached in memory if `key` is a function. Appending to a cached one needs no read. */
const MAX_LOGS = 1_000;

/** The part of an SDK run that this package reads. */
type Run = { readonly context: unknown } | undefined;

/**
 * A session of the OpenAI Agents SDK in any session store: `run(agent, input, { session })`. Each item is stored unchanged as one message
 * of the store. Several processes can write to one session without losing items.
 *
 * @example
 * ```ts
 * const session = new AgentsSession({ store, key: SessionKey.of({ userId: 'alice', sessionId: 's-001' }) });
 * await run(agent, 'Hello', { session });
 * ```
 */
export class AgentsSession
  implements SessionHistoryRewriteAwareSession, OpenAIResponsesCompactionAwareSession
{
  /** Tells the SDK to pass the context of its runs. */
  readonly acceptsRunContext = true;
  readonly #options: z.output<typeof optionsSchema>;
  /** Cached sessions by key, the least recently used first. */
  readonly #logs = new RecentMap<string, ItemLog>(MAX_LOGS);

  /** @throws {InvalidInputError} with the name of each missing, unknown or invalid option. */
  constructor(options: AgentsSessionOptions) {
    this.#options = parseWith(optionsSchema, options, 'AgentsSessionOptions');
  }

  /**
   * Returns the session's id if the key has no other part, else the whole key as text. The SDK identifies an interrupted run by this id, so
   * sessions of two users with the same name need different ids. If `key` is a function, the id does not depend on the run.
   */
  async getSessionId(): Promise<string> {
    const { key } = this.#options;
    if (typeof key === 'function') return 'by-run-context';
    const { sessionId, ...owner } = key.parts;
    const isOnly = Object.values(owner).every((part) => part === undefined) && !sessionId.includes('/');
    return isOnly ? sessionId : key.toString();
  }

  /**
   * Returns the items of the session in order.
   *
   * @param limit Maximum number of items, counted from the end. Default: all.
   */
  async getItems(limit?: number, run?: Run): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return [];
    const log = this.#log(run);
    const { messages } = await log.read({ last: limit });
    return messages.map((message) => fromStored(log, message));
  }

  /** @throws {InvalidInputError} if an item cannot be represented as JSON. Nothing is stored then. */
  async addItems(items: AgentInputItem[], run?: Run): Promise<void> {
    const log = this.#log(run);
    const messages = items.map((item) => toStored(log, item));
    if (messages.length > 0) await log.append(() => messages);
  }

  /** Removes the last item and returns it. Returns `undefined` if there is none. */
  async popItem(run?: Run): Promise<AgentInputItem | undefined> {
    const log = this.#log(run);
    const change = await log.change(({ messages }) => {
      const last = messages.at(-1);
      if (last === undefined) return undefined;
      return { keep: messages.length - 1, append: [], popped: fromStored(log, last) };
    });
    return change?.popped;
  }

  /** Removes all items and keeps an empty session. `store.delete(key)` removes the session too. */
  async clearSession(run?: Run): Promise<void> {
    await this.#log(run).change(({ messages, state }) =>
      messages.length + Object.keys(state).length === 0 ? undefined : { keep: 0, append: [], state: {} },
    );
  }

  /**
   * Appends items, or replaces the end of the history. The same commit stores the operation's id, so a repetition changes nothing, even in
   * another process. The newest 256 operations are remembered.
   *
   * @throws {InvalidInputError} if the id belongs to another transaction, or the end of the history differs.
   */
  async applyHistoryTransaction(args: HistoryTransactionArgs, run?: Run): Promise<void> {
    const read = readTransaction(args);
    const log = this.#log(run);
    await log.change((history) => planTransaction(read, history, log));
  }

  /** Replaces function calls in place. The runner calls it if a human changed a call before approving it. */
  async applyHistoryMutations({ mutations }: SessionHistoryRewriteArgs, run?: Run): Promise<void> {
    const log = this.#log(run);
    await log.change(({ messages }) => planMutations(mutations, messages, log));
  }

  /** Replaces the whole history in one commit. The runner calls it with a model's own compaction. */
  async replaceHistoryWithCompaction(items: AgentInputItem[], run?: Run): Promise<void> {
    const log = this.#log(run);
    const append = items.map((item) => toStored(log, item));
    await log.change(() => ({ keep: 0, append }));
  }

  /**
   * Compacts the history if that is due, or always with `force`. The runner calls it after every turn. Items that are added in the meantime
   * stay after the compacted history. If the compaction fails or cannot be expressed as items, nothing changes.
   *
   * @returns the usage of the compactor's model calls, or `null` if there were none.
   */
  async runCompaction(
    { force = false }: OpenAIResponsesCompactionArgs = {},
    run?: Run,
  ): Promise<OpenAIResponsesCompactionResult | null> {
    const { compactor, onCompaction, onUsage } = this.#options;
    if (compactor === undefined) return null;
    const reason = force ? 'manual' : 'proactive_budget';
    const outcome = await compactHistory(this.#log(run), compactor, { reason, onUsage });
    if (outcome !== undefined && outcome.status !== 'skipped') notify('onCompaction', onCompaction, outcome);
    if (outcome?.usage === undefined) return null;
    const { inputTokens, outputTokens } = outcome.usage;
    const totalTokens = inputTokens + outputTokens;
    return { usage: new RequestUsage({ inputTokens, outputTokens, totalTokens, endpoint: 'compaction' }) };
  }

  #log(run: Run): ItemLog {
    const { store, key: keyOrRule } = this.#options;
    const key = typeof keyOrRule === 'function' ? keyOrRule(run?.context) : keyOrRule;
    if (typeof key?.isWithin !== 'function') {
      const problem = { path: 'key', message: 'must return a SessionKey (use SessionKey.of)' };
      throw new InvalidInputError('AgentsSessionOptions', [problem]);
    }
    const id = key.toString();
    const log = this.#logs.get(id) ?? new ItemLog(store, key, FRAMEWORK);
    this.#logs.set(id, log);
    return log;
  }
}
