import { addUsage, type Message, type Model, type Usage } from '@x/core';
import type { NativeCompaction } from '@x/core/messages';
import { withoutBoards } from '../conversation/marks.js';
import { errorLine } from '../conversation/text.js';
import { noteEnd, type Writes } from './model-rest.js';
import type { Patience } from './patience.js';
import { coveredBy, type Narrative } from './summary-message.js';

/** The part of the work on a compaction that waits for models. */
export interface ModelWork {
  readonly desk: NarrativeDesk;
  readonly patience: Patience;
  /** Receives the usage of a model call as soon as it ends, even after the compaction. */
  readonly onUsage: (usage: Usage) => void;
  readonly warn: (message: string) => void;
  /** `true` if another process is writing the narrative. */
  readonly isElsewhere?: boolean;
  /** Time limit of a model request, in milliseconds. `undefined` or 0: only the stage's own limit applies. */
  readonly modelMs?: number | undefined;
  /** Aborts model calls, including those for later compactions. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of a model call: a narrative, or a compaction that only its provider can read. */
export type Written =
  | { readonly ok: true; readonly text: string; readonly note?: string | undefined }
  | { readonly ok: false; readonly problem: string }
  | ({ readonly ok: true } & Omit<NativeCompaction, 'usage'> & { readonly note?: string });

/** A request to write a text. */
interface Order {
  readonly kind: Writes;
  readonly model: Model;
  /** Further instructions that the text follows. */
  readonly instructions: string | undefined;
  /** The conversation up to the last message that the text will cover. */
  readonly messages: readonly Message[];
  /** The running number of that message. */
  readonly at: number;
  readonly work: ModelWork;
  readonly write: (signal: AbortSignal, onUsage: (usage: Usage) => void) => Promise<Written>;
}

/** A text that a model writes or has written. */
export class Writing {
  readonly kind: Writes;
  readonly model: Model;
  readonly instructions: string | undefined;
  readonly ids: ReadonlySet<string>;
  /** The id of the last message that the text covers. */
  readonly to: string;
  readonly at: number;
  /** Resolves when it is written or has failed. */
  readonly done: Promise<void>;
  /** Ids of summaries that have replaced messages that this text covers. */
  readonly heirs = new Set<string>();
  /** The text, or the reason of the failure; `undefined` while the model writes. */
  result: Written | undefined;
  /** Tokens of its model calls so far. */
  usage: Usage | undefined;
  modelCalls = 0;

  constructor({ kind, model, instructions, messages, at, work, write }: Order, signal: AbortSignal) {
    this.kind = kind;
    this.model = model;
    this.instructions = instructions;
    this.ids = new Set(withoutBoards(messages).map(({ id }) => id));
    this.to = messages.at(-1)?.id ?? '';
    this.at = at;
    const onUsage = (usage: Usage) => {
      this.usage = this.usage ? addUsage(this.usage, usage) : usage;
      this.modelCalls++;
      work.onUsage(usage);
    };
    const ended = (result: Written) => {
      this.result = result;
      if (signal.aborted) return;
      const warning = noteEnd(kind, model, result.ok ? undefined : result.problem);
      if (warning) work.warn(warning);
    };
    this.done = write(signal, onUsage)
      .catch((error: unknown): Written => ({ ok: false, problem: errorLine(error) }))
      .then(ended);
  }

  /** The narrative, once it is written. */
  get narrative(): Narrative | undefined {
    return this.result && 'text' in this.result && this.result.ok
      ? { text: this.result.text, to: this.to, at: this.at }
      : undefined;
  }
}

function everyOf(ids: ReadonlySet<string>, others: readonly string[]): boolean {
  const known = new Set(others);
  return [...ids].every((id) => known.has(id));
}

/** A text, and whether it came too late. */
export interface Found {
  readonly writing: Writing;
  /** `true` if another summary has replaced its messages by now. */
  readonly isLate: boolean;
}

/** Runs the model calls of one session that write texts: one text at a time. A call may outlive the compaction that started it. */
export class NarrativeDesk {
  #writing: Writing | undefined;
  #abort = new AbortController();

  get isEmpty(): boolean {
    return this.#writing === undefined;
  }

  /** Starts a text and drops the previous one. */
  begin(order: Order): Writing {
    this.drop();
    const { signal } = order.work;
    const abort = this.#abort.signal;
    const writing = new Writing(order, signal ? AbortSignal.any([abort, signal]) : abort);
    this.#writing = writing;
    return writing;
  }

  /** Returns the text about the beginning of this conversation, whether it is done or not. */
  find(messages: readonly Message[]): Found | undefined {
    const writing = this.#writing;
    if (writing === undefined) return undefined;
    const { ids, heirs, to } = writing;
    const summary = messages.findLast(({ kind }) => kind === 'summary');
    if (summary !== undefined) {
      const covers = coveredBy(summary);
      // In LangChain, a summary has the id of the first message that it covers.
      const isOwn = covers.some((id) => id !== summary.id && ids.has(id));
      // Ids may come from content, so conversations of different users can share some of them.
      const isSame = isOwn && everyOf(ids, [...covers, ...messages.map(({ id }) => id)]);
      if (isSame || covers.some((id) => heirs.has(id))) {
        if (!ids.has(summary.id)) heirs.add(summary.id);
        return { writing, isLate: true };
      }
      if (!ids.has(summary.id)) return undefined;
    }
    const head = withoutBoards(messages.slice(0, messages.findIndex(({ id }) => id === to) + 1));
    const isSame = head.length === ids.size && head.every(({ id }) => ids.has(id));
    return isSame ? { writing, isLate: false } : undefined;
  }

  /** Drops the text and aborts its model calls. */
  drop(): void {
    this.#writing = undefined;
    this.#abort.abort();
    this.#abort = new AbortController();
  }

  /** Drops a text that was used or has failed. */
  clear(writing: Writing): void {
    if (this.#writing === writing) this.#writing = undefined;
  }
}
