import { isDeepStrictEqual } from 'node:util';
import {
  type CompactionOutcome,
  type CompactOptions,
  type Compactor,
  InvalidInputError,
  ItemLog,
  type JsonValue,
  type Message,
  type SessionStore,
  TimeLimitError,
  textOf,
} from '@x/core';
import { collectionOf, errorText, RecentMap, unlessAborted, withinLimit } from '@x/core/internal';
import { madeFrom, messageBytes } from '@x/core/messages';
import { chatKey } from '../ui/chat-key.js';
import type { RememberOptions } from './agent-options.js';
import { fingerprints, fromMessage, type SdkMessage, toMessage, unmarked } from './sdk-message.js';

const NAME = 'ai-sdk-reductions';
const COLLECTION = 'reductions';
/** Maximum number of stored reductions for conversations that are equal up to the first answer. */
const KEPT = 20;
/** If the store did not answer in time, the next read or write waits only this share of the time limit. */
const SHARE_IN_SILENCE = 1 / 30;

/**
 * An unchanged message, by the fingerprint of the conversation up to it. Every request contains the message, so it is not stored again.
 */
interface Same {
  readonly same: string;
}

/** A message of a reduced conversation: unchanged, or created or changed by the compactor. */
type Entry = Same | { readonly message: Message };

/** A reduction in a store: the fingerprint of the messages that it replaces, and the messages that replace them. */
interface StoredReduction {
  readonly id: string;
  readonly entries: readonly Entry[];
}

/** Stores reductions in a collection of a session store, so that other processes can use them. */
class StoredReductions {
  readonly #where: RememberOptions;
  readonly #reductions: SessionStore;
  /** Whether the store did not answer the last read or write in time. */
  #isSilent = false;

  /** @throws {CapabilityError} if the store has no collections. */
  constructor(where: RememberOptions) {
    this.#where = where;
    this.#reductions = collectionOf(where.store, COLLECTION);
  }

  /**
   * Finds the stored reduction that covers the most messages of a conversation.
   *
   * @param ids For each message, the fingerprint of the conversation up to this message.
   * @returns The messages of the reduction, and the fingerprint of the messages that it replaces.
   */
  async find(
    sources: readonly SdkMessage[],
    ids: readonly string[],
  ): Promise<{ readonly id: string; readonly messages: readonly Message[] } | undefined> {
    const beginning = beginningOf(sources, ids);
    if (beginning === undefined) return undefined;
    const log = this.#log(beginning);
    const { messages } = await this.#within(() => log.read());
    const stored = new Map(
      messages.map((message) => {
        const reduction = log.item(message) as unknown as StoredReduction;
        return [reduction.id, reduction];
      }),
    );
    const id = ids.findLast((candidate) => stored.has(candidate));
    const found = id === undefined ? undefined : stored.get(id);
    if (id === undefined || found === undefined) return undefined;
    const byId = new Map(ids.map((own, at) => [own, sources[at] as SdkMessage]));
    return { id, messages: found.entries.map((entry) => restored(entry, byId)) };
  }

  /** Saves a reduction. If there are already 20 for the same beginning, deletes the oldest. */
  async keep({ id, beginning, entries }: Reduction): Promise<void> {
    const log = this.#log(beginning);
    const stored = entries.map((entry): Entry => ('same' in entry ? entry : { message: entry.message }));
    const item = log.message({ id, entries: stored } as unknown as JsonValue);
    await this.#within(() =>
      log.change(({ messages }) =>
        messages.length < KEPT
          ? { keep: messages.length, append: [item] }
          : { keep: 0, append: [...messages.slice(1), item] },
      ),
    );
  }

  /** @throws {TimeLimitError} if the store does not answer in time. */
  async #within<Value>(work: () => Promise<Value>): Promise<Value> {
    const ms = Math.ceil(this.#where.timeoutMs * (this.#isSilent ? SHARE_IN_SILENCE : 1));
    try {
      const value = await withinLimit(['The store of reductions', 'remember.timeoutMs', ms], work);
      this.#isSilent = false;
      return value;
    } catch (error) {
      this.#isSilent = TimeLimitError.isInstance(error);
      throw error;
    }
  }

  #log(beginning: string): ItemLog {
    return new ItemLog(this.#reductions, chatKey(this.#where, beginning), NAME, 0);
  }
}

/**
 * Returns the fingerprint of the conversation up to and including the first answer; without an answer, of the whole conversation. The first
 * request alone is not enough, because many chats have the same one.
 */
function beginningOf(conversation: readonly SdkMessage[], ids: readonly string[]): string | undefined {
  return ids.at(conversation.findIndex(({ role }) => role === 'assistant'));
}

function restored(entry: Entry, sources: ReadonlyMap<string, SdkMessage>): Message {
  if ('same' in entry) return toMessage(sourceOf(entry, sources), entry.same);
  const { id } = entry.message;
  const source = sources.get(id);
  const original = source && toMessage(source, id);
  // For unchanged blocks, use the objects of the conversation: `fromMessage` finds the SDK's part of a block by its object.
  const content = entry.message.content.map(
    (block) => original?.content.find((own) => isDeepStrictEqual(own, block)) ?? block,
  );
  return { ...entry.message, content };
}

/** Maximum number of ids of reductions (two for each), and of token ratios, that a process caches per compactor. */
const CAPACITY = 2_000;

/** Maximum size of the created and changed messages in these reductions, in bytes of a request. In memory, they need up to about 350 MB. */
const CAPACITY_BYTES = 40_000_000;

/**
 * Known summaries, by their text. The prompt of `withOverflowRecovery` may begin with messages that `prepareStepWith` returned. The SDK has
 * copied them, so a summary among them looks like a message of the user.
 */
const summaries = new RecentMap<string, Message>(CAPACITY);

function asSummary(message: Message, source: SdkMessage): Message {
  const known = message.role === 'user' ? summaries.get(textOf(message)) : undefined;
  if (known === undefined) return message;
  const { kind = 'summary', metadata = {} } = known;
  return madeFrom({ ...message, kind, metadata }, source);
}

/** A message that the compactor created or changed, also in the SDK's format (`written`). */
interface Made {
  readonly message: Message;
  readonly written: SdkMessage;
}

/** A conversation whose beginning was reduced. */
interface Reduction {
  /** The fingerprint of the messages that the reduction replaces. */
  readonly id: string;
  /** The fingerprint of these messages up to the first answer. */
  readonly beginning: string;
  readonly entries: readonly (Same | Made)[];
  /** The fingerprint of the messages that replace them. */
  readonly sent: string;
}

/** The cache for the conversations of one compactor. The least recently used entries come first. */
interface Known {
  /** Each reduction is in the map twice: by its `id` and by its `sent`. */
  readonly reductions: Map<string, Reduction>;
  /** How many tokens the provider counts for each token that our counter counts, by context window and conversation. */
  readonly ratios: Map<string, number>;
  readonly running: Set<Running>;
}

/** The outcome of a compaction, with the reduction if it was applied. */
interface Compacted {
  readonly outcome: CompactionOutcome;
  readonly next?: Reduction | undefined;
}

/** A running compaction. */
interface Running {
  /** The fingerprint of the messages that are compacted. */
  readonly id: string;
  readonly options: CompactOptions;
  readonly aborting: AbortController;
  readonly ended: Promise<Compacted>;
  /** Number of calls that wait for the compaction. */
  waiting: number;
  /** Whether an outcome with the usage was returned. */
  isCounted: boolean;
}

function started(
  id: string,
  options: CompactOptions,
  compact: (signal: AbortSignal) => Promise<Compacted>,
): Running {
  const aborting = new AbortController();
  return { id, options, aborting, ended: compact(aborting.signal), waiting: 0, isCounted: false };
}

/** The caches, by compactor, because applications may call `prepareStepWith(compactor)` again for each request. */
const knownBy = new WeakMap<Compactor, Known>();

/** A conversation as it is sent, and the outcome of the compaction. */
interface ReducedConversation<Source extends SdkMessage> {
  /** The same array as the given one if no part of the conversation was ever reduced. */
  readonly messages: readonly Source[];
  readonly outcome: CompactionOutcome;
}

/**
 * Reduces conversations that the SDK passes again in full with each call. If the beginning of a conversation was reduced before, sends
 * it reduced in the same way. So the provider's prompt cache stays valid, and no message is summarized twice.
 */
export class Reductions {
  readonly #compactor: Compactor;
  readonly #stored: StoredReductions | undefined;
  readonly #known: Map<string, Reduction>;
  readonly #ratios: Map<string, number>;
  readonly #running: Set<Running>;

  /**
   * @param where The store in which other processes find the reductions. Default: none.
   * @throws {InvalidInputError} if `compactor` is not a compactor.
   * @throws {CapabilityError} if the store has no collections.
   */
  constructor(compactor: Compactor, where?: RememberOptions) {
    if (typeof compactor?.compact !== 'function') {
      const message = 'must be a compactor: createCompactor({ … }) of @x/compaction';
      throw new InvalidInputError('compactor', [{ path: '', message }]);
    }
    this.#compactor = compactor;
    const known = knownBy.get(compactor) ?? {
      reductions: new RecentMap(CAPACITY),
      ratios: new RecentMap(CAPACITY),
      running: new Set(),
    };
    knownBy.set(compactor, known);
    this.#known = known.reductions;
    this.#ratios = known.ratios;
    this.#running = known.running;
    this.#stored = where === undefined ? undefined : new StoredReductions(where);
  }

  /** Applies a cached reduction to the conversation, without calling the compactor. */
  recall<Source extends SdkMessage>(messages: readonly Source[]): readonly Source[] {
    if (this.#known.size === 0) return messages;
    const { reduction, start, current } = this.#find(messages);
    return reduction === undefined ? messages : joined(reduction, current, messages.slice(start));
  }

  /**
   * Returns the last learned token ratio of a conversation. Each conversation has its own ratio, because its model, tools and language may
   * differ. Another context window usually means another model.
   *
   * @param learned The new ratio, if there is one.
   */
  ratio(messages: readonly SdkMessage[], contextWindow: number, learned?: number): number | undefined {
    const conversation = `${contextWindow} ${this.#find(messages).beginning ?? ''}`;
    if (learned !== undefined) this.#ratios.set(conversation, learned);
    return this.#ratios.get(conversation);
  }

  /** Applies a known reduction, and then calls the compactor, which may reduce the conversation further. */
  async reduce<Source extends SdkMessage>(
    messages: readonly Source[],
    options: CompactOptions,
  ): Promise<ReducedConversation<Source>> {
    if (this.#stored !== undefined && this.#find(messages).reduction === undefined)
      await this.recollect(messages);
    const { ids, beginning = '', reduction, start, current } = this.#find(messages);
    const before = reduction?.entries ?? [];
    const fresh = messages.slice(start).map((source, index) => {
      const id = ids[start + index] ?? '';
      return asSummary(toMessage(source, id), source);
    });
    const known = before.map((entry) =>
      'same' in entry ? toMessage(sourceOf(entry, current), entry.same) : entry.message,
    );
    const view = [...known, ...fresh];
    const id = ids.at(-1) ?? '';
    const { outcome, next } = await this.#together(id, options, async (signal): Promise<Compacted> => {
      const outcome = await this.#compactor.compact(view, { ...options, signal, textOnly: true });
      if (outcome.status !== 'applied') return { outcome };
      try {
        const next = reductionTo(outcome.messages, current, { id, beginning }, before);
        this.#remember(next);
        await this.#stored?.keep(next).catch(forgotten);
        return { outcome, next };
      } catch (error) {
        if (!InvalidInputError.isInstance(error)) throw error;
        // The SDK has no format for a block of the result, so the conversation stays as it was.
        const failed = { status: 'failed', message: error.message, messages: view, manifest: [] } as const;
        return { outcome: { ...outcome, ...failed } };
      }
    });
    if (next !== undefined) return { messages: joined(next, current, []), outcome };
    const same = reduction === undefined ? messages : joined(reduction, current, messages.slice(start));
    return { messages: same, outcome };
  }

  /**
   * Compacts once for all calls that pass the same conversation with the same options at the same time, as two tabs do. The compaction is
   * aborted once all of these calls are aborted. Only one of the outcomes has the usage, so that each model call is counted once.
   */
  async #together(
    id: string,
    { signal, onUsage: _, ...options }: CompactOptions,
    compact: (signal: AbortSignal) => Promise<Compacted>,
  ): Promise<Compacted> {
    const running = [...this.#running].find(
      (one) => one.id === id && isDeepStrictEqual(one.options, options),
    );
    const run = running ?? started(id, options, compact);
    /** Removes the compaction from the running ones. Returns whether it was still there. */
    const end = () => this.#running.delete(run);
    if (running === undefined) {
      this.#running.add(run);
      run.ended.then(end, end);
    }
    run.waiting++;
    try {
      const { outcome, next } = await unlessAborted(run.ended, signal);
      const withoutUsage = run.isCounted ? { usage: undefined, modelCalls: undefined } : {};
      run.isCounted = true;
      return { outcome: { ...outcome, ...withoutUsage }, next };
    } finally {
      if (--run.waiting === 0 && end()) run.aborting.abort(signal?.reason);
    }
  }

  /** Loads the stored reduction that covers the most messages. It may be from another process and newer than the cached one. */
  async recollect(messages: readonly SdkMessage[]): Promise<void> {
    if (this.#stored === undefined) return;
    const ids = fingerprints(messages);
    const found = await this.#stored.find(messages, ids).catch(forgotten);
    if (found === undefined || this.#known.has(found.id)) return;
    const sources = new Map(ids.map((id, at) => [id, messages[at] as SdkMessage]));
    const beginning = beginningOf(messages, ids) ?? '';
    this.#remember(reductionTo(found.messages, sources, { id: found.id, beginning }));
  }

  /**
   * Finds the cached reduction that covers the most messages. `start` is the index of the first message after them, and `current` contains
   * the given messages by fingerprint.
   */
  #find<Source extends SdkMessage>(messages: readonly Source[]) {
    const given = fingerprints(messages);
    const last = given.findLastIndex((id) => this.#known.has(id));
    const reduction = this.#known.get(given[last] ?? '');
    if (reduction !== undefined) this.#touch(reduction);
    const start = last + 1;
    const current = new Map(given.map((id, at) => [id, messages[at] as Source]));
    if (reduction === undefined || given[last] === reduction.id)
      return { ids: given, beginning: beginningOf(messages, given), reduction, start, current };
    // The messages begin with messages that were reduced in an earlier step. Give those after them the ids that they have in the full
    // conversation, because the next call passes it again.
    const behind = fingerprints(messages.slice(start), reduction.id);
    const ids = [...given.slice(0, last), reduction.id, ...behind];
    for (const [at, id] of [...reduction.entries.map(idOf), ...behind].entries())
      current.set(id, messages[at] as Source);
    return { ids, beginning: reduction.beginning, reduction, start, current };
  }

  /** Caches a reduction by its `id` and its `sent`, because newer versions of the SDK pass the reduced messages in the next step. */
  #remember(reduction: Reduction): void {
    this.#touch(reduction);
    let bytes = 0;
    for (const [id, each] of [...this.#known].reverse()) {
      // Each reduction is in the map twice.
      bytes += messageBytes(madeIn(each)) / 2;
      if (each !== reduction && bytes > CAPACITY_BYTES) this.#known.delete(id);
    }
  }

  /** Puts a reduction into the cache as the most recently used one, and its summaries into `summaries`. */
  #touch(reduction: Reduction): void {
    for (const id of [reduction.id, reduction.sent]) this.#known.set(id, reduction);
    for (const message of madeIn(reduction))
      if (message.kind === 'summary') summaries.set(textOf(message), message);
  }
}

/** Warns that a reduction could not be loaded or saved. The step continues without the store. */
function forgotten(error: unknown): undefined {
  process.emitWarning(`A compacted conversation could not be loaded or saved: ${errorText(error)}`);
}

/**
 * Creates a reduction from messages that the compactor returned or that were stored.
 *
 * @param sources The messages of the conversation, by id.
 * @param before The entries of the reduction that this one continues.
 * @throws {InvalidInputError} if the SDK has no format for a block.
 */
function reductionTo(
  messages: readonly Message[],
  sources: ReadonlyMap<string, SdkMessage>,
  of: Pick<Reduction, 'id' | 'beginning'>,
  before: Reduction['entries'] = [],
): Reduction {
  const earlier = new Map(before.flatMap((entry) => ('same' in entry ? [] : [[idOf(entry), entry]])));
  const entries = messages.map((message): Same | Made => {
    const { id } = message;
    const made = earlier.get(id);
    if (made?.message === message) return made;
    const original = made?.written ?? sources.get(id);
    if (original !== undefined && toMessage(original, id) === message) return { same: id };
    const written = fromMessage(message, original);
    return { message, written: original === undefined ? written : unmarked(written) };
  });
  const sent = fingerprints(joined({ entries }, sources, [])).at(-1) ?? '';
  return { ...of, entries, sent };
}

function idOf(entry: Same | Made): string {
  return 'same' in entry ? entry.same : entry.message.id;
}

function madeIn({ entries }: Reduction): readonly Message[] {
  return entries.flatMap((entry) => ('same' in entry ? [] : [entry.message]));
}

function sourceOf<Source extends SdkMessage>({ same }: Same, sources: ReadonlyMap<string, Source>): Source {
  const source = sources.get(same);
  if (source === undefined) throw new Error('A message of the reduction is not in the conversation.');
  return source;
}

/**
 * Returns the reduced messages, followed by the rest. For unchanged messages, uses the objects of the current request, because the
 * application may have moved its prompt cache marks. The cast is safe, because the other messages only have parts of kinds that `Source` has.
 */
function joined<Source extends SdkMessage>(
  { entries }: Pick<Reduction, 'entries'>,
  current: ReadonlyMap<string, Source>,
  rest: readonly Source[],
): readonly Source[] {
  const head = entries.map((entry) =>
    'same' in entry ? sourceOf(entry, current) : (entry.written as Source),
  );
  return [...head, ...rest];
}
