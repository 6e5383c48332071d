import type { CompactionOutcome, CompactionReason, Compactor, ItemChange, ItemLog, Message } from '@x/core';
import { fromView } from './from-view.js';
import { toView } from './view.js';

/** One compaction of a session: reduces once, however often the change has to be worked out anew. */
export class HistoryCompaction {
  readonly #compactor: Compactor;
  readonly #reason: CompactionReason;
  readonly #log: ItemLog;
  #done: { readonly ids: readonly string[]; readonly result: readonly Message[] } | undefined;
  /** Of the last run. */
  outcome: CompactionOutcome | undefined;

  constructor(compactor: Compactor, reason: CompactionReason, log: ItemLog) {
    this.#compactor = compactor;
    this.#reason = reason;
    this.#log = log;
  }

  /** What becomes of a history; `undefined` when nothing is to change. */
  async plan(messages: readonly Message[]): Promise<ItemChange | undefined> {
    const result = this.#forGrown(messages) ?? (await this.#reduced(messages));
    if (result === undefined) return undefined;
    const differs = messages.findIndex((message, index) => message !== result[index]);
    const keep = differs === -1 ? messages.length : differs;
    return { keep, append: result.slice(keep) };
  }

  /** Others only added to what was reduced: the result holds for its beginning. */
  #forGrown(messages: readonly Message[]): readonly Message[] | undefined {
    const done = this.#done;
    if (done === undefined || !done.ids.every((id, index) => messages[index]?.id === id)) return undefined;
    return [...done.result, ...messages.slice(done.ids.length)];
  }

  async #reduced(messages: readonly Message[]): Promise<readonly Message[] | undefined> {
    const entries = toView(messages, this.#log);
    const view = entries.map(({ message }) => message);
    this.outcome = await this.#compactor.compact(view, { reason: this.#reason });
    if (this.outcome.status !== 'applied') return undefined;
    const result = fromView(this.outcome.messages, entries, this.#log);
    this.#done = { ids: messages.map(({ id }) => id), result };
    return result;
  }
}
