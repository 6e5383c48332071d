import {
  type AgentInputItem,
  type OpenAIResponsesCompactionArgs,
  type OpenAIResponsesCompactionAwareSession,
  type OpenAIResponsesCompactionResult,
  RequestUsage,
  type SessionHistoryRewriteArgs,
  type SessionHistoryRewriteAwareSession,
} from '@openai/agents';
import { type CompactionOutcome, type Compactor, ItemLog, type SessionKey, type SessionStore } from '@x/core';
import { callable, having, notify, parseWith } from '@x/core/internal';
import * as z from 'zod';
import { compactHistory } from './compaction.js';
import {
  type HistoryTransactionArgs,
  planMutations,
  planTransaction,
  readTransaction,
} from './history-changes.js';
import { FRAMEWORK, fromStored, toStored } from './stored-item.js';

/** Names the session of a run by the run's context; `undefined` where the SDK asks outside of any run. */
export type KeyOfRun = (context: unknown) => SessionKey;

const optionsSchema = z.strictObject({
  /** The store of the items. The session never closes it. */
  store: having<SessionStore>('commit', 'a SessionStore'),
  /**
   * Whose session it is, or a function that tells it by the context of the run, so that one session object serves every
   * tenant and user. No item of one key can be read or changed under another. With a function the SDK must hand its runs'
   * context over, as it does from 0.17 on.
   */
  key: z.custom<SessionKey | KeyOfRun>(
    (value) =>
      typeof value === 'function' || typeof (value as SessionKey | undefined)?.isWithin === 'function',
    'must be a SessionKey (use SessionKey.of) or a function that gives one',
  ),
  /** Reduces what is stored after a turn, when it is due: the next run begins with less. Default: nothing is reduced. */
  compactor: z.optional(having<Compactor>('compact', 'a Compactor')),
  /** Receives every run of the compactor. */
  onCompaction: z.optional(callable<(outcome: CompactionOutcome) => void>()),
});

export type AgentsSessionOptions = Readonly<z.input<typeof optionsSchema>>;

/** Maximum number of sessions cached in memory if `key` is a function. Appending to a cached one needs no read. */
const MAX_LOGS = 1_000;

/** The run of the SDK, as far as it is read here. */
type Run = { readonly context: unknown } | undefined;

/**
 * A session of the OpenAI Agents SDK in any session store: `run(agent, input, { session })`. Items are kept whole, one
 * message of the store each; writers of one session, in any process, never lose each other's items.
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
  /** Makes the SDK pass the context of its runs. */
  readonly acceptsRunContext = true;
  readonly #options: z.output<typeof optionsSchema>;
  /** By key; least recently used first. */
  readonly #logs = new Map<string, ItemLog>();

  /** @throws {InvalidInputError} with the name of each missing, unknown or invalid option. */
  constructor(options: AgentsSessionOptions) {
    this.#options = parseWith(optionsSchema, options, 'AgentsSessionOptions');
  }

  /**
   * The session's id, if the key names nothing else; else the whole key as text, for the SDK ties an interrupted run to this
   * id, and two users' sessions of one name must not pass for one. Of a function's keys it names none.
   */
  async getSessionId(): Promise<string> {
    const { key } = this.#options;
    if (typeof key === 'function') return 'by-run-context';
    const { sessionId, ...owner } = key.parts;
    const isOnly = Object.values(owner).every((part) => part === undefined) && !sessionId.includes('/');
    return isOnly ? sessionId : key.toString();
  }

  /**
   * The items of the session in their order.
   *
   * @param limit Maximum number of items, counted from the end. Default: all.
   */
  async getItems(limit?: number, run?: Run): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return [];
    const log = this.#log(run);
    const { messages } = await log.read({ last: limit });
    return messages.map((message) => fromStored(log, message));
  }

  /** @throws {InvalidInputError} for an item that JSON cannot hold; nothing is stored then. */
  async addItems(items: AgentInputItem[], run?: Run): Promise<void> {
    const log = this.#log(run);
    const messages = items.map((item) => toStored(log, item));
    if (messages.length > 0) await log.append(() => messages);
  }

  async popItem(run?: Run): Promise<AgentInputItem | undefined> {
    const log = this.#log(run);
    const change = await log.change(({ messages }) => {
      const last = messages.at(-1);
      if (last === undefined) return undefined;
      return { keep: messages.length - 1, append: [], popped: fromStored(log, last) };
    });
    return change?.popped;
  }

  /** Removes all items. The session stays, empty; `store.delete(key)` removes that too. */
  async clearSession(run?: Run): Promise<void> {
    await this.#log(run).change(({ messages, state }) =>
      messages.length + Object.keys(state).length === 0 ? undefined : { keep: 0, append: [], state: {} },
    );
  }

  /**
   * Appends items or replaces the end of the history in one commit together with the operation's id, so that a
   * repetition changes nothing, also in another process. The newest 256 operations are remembered.
   *
   * @throws {InvalidInputError} if the id belongs to another transaction, or the end of the history differs.
   */
  async applyHistoryTransaction(args: HistoryTransactionArgs, run?: Run): Promise<void> {
    const read = readTransaction(args);
    const log = this.#log(run);
    await log.change((history) => planTransaction(read, history, log));
  }

  /** Replaces function calls in place: what the runner does when a human changed one before approving it. */
  async applyHistoryMutations({ mutations }: SessionHistoryRewriteArgs, run?: Run): Promise<void> {
    const log = this.#log(run);
    await log.change(({ messages }) => planMutations(mutations, messages, log));
  }

  /** Replaces the whole history in one commit: what the runner does with a model's own compaction. */
  async replaceHistoryWithCompaction(items: AgentInputItem[], run?: Run): Promise<void> {
    const log = this.#log(run);
    const append = items.map((item) => toStored(log, item));
    await log.change(() => ({ keep: 0, append }));
  }

  /**
   * Reduces the history when it is due, or with `force` whatever its size; the runner calls it after every turn. What
   * others add meanwhile stays behind it. A reduction that fails, or that no items can say, changes nothing.
   *
   * @returns what the compactor's own model calls cost, or `null` when there were none.
   */
  async runCompaction(
    { force = false }: OpenAIResponsesCompactionArgs = {},
    run?: Run,
  ): Promise<OpenAIResponsesCompactionResult | null> {
    const { compactor, onCompaction } = this.#options;
    if (compactor === undefined) return null;
    const outcome = await compactHistory(this.#log(run), compactor, force ? 'manual' : 'proactive_budget');
    if (outcome !== undefined && outcome.status !== 'skipped') notify('onCompaction', onCompaction, outcome);
    if (outcome?.usage === undefined) return null;
    const { inputTokens, outputTokens } = outcome.usage;
    const totalTokens = inputTokens + outputTokens;
    return { usage: new RequestUsage({ inputTokens, outputTokens, totalTokens, endpoint: 'compaction' }) };
  }

  #log(run: Run): ItemLog {
    const { store, key: keyOrRule } = this.#options;
    const key = typeof keyOrRule === 'function' ? keyOrRule(run?.context) : keyOrRule;
    const id = key.toString();
    const log = this.#logs.get(id) ?? new ItemLog(store, key, FRAMEWORK);
    this.#logs.delete(id);
    this.#logs.set(id, log);
    const [oldest] = this.#logs.keys();
    if (this.#logs.size > MAX_LOGS && oldest !== undefined) this.#logs.delete(oldest);
    return log;
  }
}
