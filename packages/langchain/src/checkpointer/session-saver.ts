import { isDeepStrictEqual } from 'node:util';
import type { RunnableConfig } from '@langchain/core/runnables';
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  copyCheckpoint,
  getCheckpointId,
  type PendingWrite,
  type SerializerProtocol,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint';
import {
  InvalidInputError,
  ItemLog,
  type JsonValue,
  type Message,
  SessionKey,
  type SessionStore,
  SessionStoreError,
} from '@x/core';
import { collectionOf, having, parseWith, RecentMap } from '@x/core/internal';
import * as z from 'zod';
import { CheckpointTuples } from './checkpoint-tuples.js';
import { SoundSerializer } from './sound-serializer.js';
import {
  BeforeTheseRecords,
  type CheckpointRecord,
  Encoder,
  keyOf,
  type Ref,
  type Serialized,
  ThreadIndex,
  type ThreadRecord,
  type WritesRecord,
} from './thread-records.js';

const optionsSchema = z.strictObject({
  /** The store of the threads. The saver never closes it. */
  store: having<SessionStore>('commit', 'a SessionStore'),
  /** Tenant and user of the threads. Threads of other users cannot be read, listed or deleted. Default: none. */
  tenantId: z.string().min(1).optional(),
  userId: z.string().min(1).optional(),
  /** Separates the threads of different graphs in one store. Default `langgraph`. */
  agentId: z.string().min(1).default('langgraph'),
  /** Number of checkpoints that a thread keeps per namespace. Up to twice as many may be stored at a time. Default: all. */
  keep: z.int().positive().optional(),
  /** The serializer for values. Default: LangGraph's own. */
  serde: z.custom<SerializerProtocol>().optional(),
});

export type SessionSaverOptions = Readonly<z.input<typeof optionsSchema>>;

const FRAMEWORK = 'langgraph';
const COLLECTION = 'threads';
/** Number of records in the first read for a checkpoint. If it needs earlier records, the next read has four times as many. */
const FIRST_READ = 128;
/** Usual number of records between a checkpoint and its parent. */
const FEW = 8;
/** A checkpoint is written in full after this many records, or after four for each element of its values. */
const WHOLE_AFTER = 64;
const GONE =
  'names a checkpoint that was removed during the run, by retention or with its thread. The run needs it for its ' +
  'delta channels. Start the run again, and raise `keep` if runs overlap';
/** Maximum number of threads cached in memory. Appending to a cached thread needs no read. */
const MAX_THREADS = 256;

type Thread = {
  readonly key: SessionKey;
  readonly log: ItemLog;
  /** Ids of deleted checkpoints. A run that still uses one must not write it again. */
  readonly gone: Set<string>;
  /** `true` if the thread was deleted and not read since. */
  isGone: boolean;
} & ReturnType<typeof stateOf>;

/**
 * A LangGraph checkpointer for any session store that has collections. Each thread and namespace is one record of the collection `threads`,
 * to which entries are appended. A checkpoint only writes its new values. Each message is stored once, even if many checkpoints contain it.
 *
 * @example
 * ```ts
 * const checkpointer = new SessionSaver({ store: new JsonSession({ directory: './threads' }), keep: 100 });
 * const graph = builder.compile({ checkpointer });
 * ```
 */
export class SessionSaver extends BaseCheckpointSaver {
  readonly #options: z.output<typeof optionsSchema>;
  readonly #store: SessionStore;
  /** The agent id. The character `:`, which separates it from a namespace, is escaped. */
  readonly #agent: string;
  readonly #serde: SoundSerializer;
  /** Cached threads by key, the least recently used first. */
  readonly #threads = new RecentMap<string, Thread>(MAX_THREADS);

  /**
   * @throws {InvalidInputError} with the name of each missing, unknown or invalid option.
   * @throws {CapabilityError} if the store has no collections.
   */
  constructor(options: SessionSaverOptions) {
    super(options.serde);
    this.#serde = new SoundSerializer(this.serde);
    this.serde = this.#serde;
    this.#options = parseWith(optionsSchema, options, 'SessionSaverOptions');
    this.#store = collectionOf(this.#options.store, COLLECTION);
    this.#agent = this.#options.agentId.replace(/[%:]/g, encodeURIComponent);
  }

  /** Returns a version that no fork of the thread can repeat, because values are stored by channel and version. */
  override getNextVersion(current: number | undefined): number {
    return Math.floor(current ?? 0) + 1 + Math.random();
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id: thread } = config.configurable ?? {};
    if (thread === undefined) return undefined;
    const known = this.#thread(config);
    const { log, since } = known;
    for (let last = since > 0 ? since + FEW : FIRST_READ; ; last *= 4) {
      const { messages } = await log.read({ last });
      const isComplete = messages.length < last;
      const index = indexOf(log, messages, isComplete);
      const id = getCheckpointId(config) || index.ids[0];
      const record = id === undefined ? undefined : index.checkpoints.get(id);
      if (record === undefined) {
        if (isComplete && index.ids.length === 0) forget(known);
        known.isGone = false;
        if (isComplete) return undefined;
        continue;
      }
      known.ids.add(record.id);
      known.isGone = false;
      try {
        return await this.#tuples(index).tuple(record, String(thread), namespaceOf(config));
      } catch (error) {
        if (!(error instanceof BeforeTheseRecords)) throw error;
      }
    }
  }

  async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: wanted } = config.configurable ?? {};
    const { before, filter = {} } = options;
    const end = before?.configurable?.checkpoint_id as string | undefined;
    let left = options.limit ?? Number.POSITIVE_INFINITY;
    for await (const found of this.#sessions(thread === undefined ? undefined : String(thread))) {
      if (namespace !== undefined && namespace !== found.namespace) continue;
      const index = await this.#index(found.key);
      const tuples = this.#tuples(index);
      for (const id of index.ids) {
        if (left <= 0) return;
        if ((wanted && id !== wanted) || (end && id >= end)) continue;
        const record = index.checkpoints.get(id) as CheckpointRecord;
        const metadata = await tuples.load<Record<string, unknown>>(record.metadata);
        if (!Object.entries(filter).every(([key, value]) => isDeepStrictEqual(metadata[key], value)))
          continue;
        left -= 1;
        yield await tuples.tuple(record, found.key.parts.sessionId, found.namespace);
      }
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const thread = this.#thread(config);
    const { channel_values: values, ...rest } = copyCheckpoint(checkpoint);
    const dump = async (channel: string) =>
      channel in values ? await this.#serde.dumpsTyped(values[channel], channel) : null;
    const parts = await Promise.all([
      this.#serde.dumpsTyped(rest, 'checkpoint'),
      this.#serde.dumpsTyped(metadata, 'metadata'),
    ]);
    const changed = new Map<string, Serialized | null>();
    for (const channel of Object.keys(newVersions)) changed.set(channel, await dump(channel));
    const parent = config.configurable?.checkpoint_id as string | undefined;
    await this.#add(thread, parent, async () => {
      // If the parent was deleted during the run, the checkpoint is written in full. That is impossible if it needs its parents' writes.
      if (parent !== undefined && !thread.ids.has(parent) && metadata.counters_since_delta_snapshot) {
        throw new InvalidInputError('config.configurable', [{ path: 'checkpoint_id', message: GONE }]);
      }
      const isWhole = thread.since >= Math.max(WHOLE_AFTER, 4 * Object.values(values).flat().length);
      if (isWhole) [thread.known, thread.since] = [new Set(), 0];
      const encoder = new Encoder(thread.known);
      const added: [string, string, Ref | null][] = [];
      for (const [channel, version] of Object.entries({ ...checkpoint.channel_versions, ...newVersions })) {
        const key = keyOf(channel, version);
        if (thread.known.has(key) && !changed.has(channel)) continue;
        // A first checkpoint only writes the values that are new. A later one also writes values that the thread has lost.
        const isSaid = changed.has(channel) || (parent === undefined && !isWhole);
        const value = isSaid ? (changed.get(channel) ?? null) : await dump(channel);
        added.push([channel, String(version), value && encoder.encode(value)]);
        thread.known.add(key);
      }
      thread.ids.add(checkpoint.id);
      thread.gone.delete(checkpoint.id);
      const record = {
        kind: 'checkpoint' as const,
        id: checkpoint.id,
        ...(parent === undefined ? {} : { parent }),
        checkpoint: encoder.encode(parts[0]),
        metadata: encoder.encode(parts[1]),
        values: added,
        ...(isWhole ? { whole: true } : {}),
        items: encoder.items,
      };
      // Write these pending writes again after the checkpoint, where they are searched.
      const early = thread.early.get(checkpoint.id) ?? [];
      thread.early.delete(checkpoint.id);
      return [record, ...early.map((writes) => ({ ...writes, items: {} }))];
    });
    const { keep } = this.#options;
    if (keep !== undefined && thread.ids.size >= Math.max(2 * keep, thread.retainAt)) {
      await this.#retain(thread, keep);
    }
    const { thread_id } = config.configurable as { readonly thread_id: string };
    return {
      configurable: { thread_id, checkpoint_ns: namespaceOf(config), checkpoint_id: checkpoint.id },
    };
  }

  async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = '',
  ): Promise<void> {
    const thread = this.#thread(config);
    const id = config.configurable?.checkpoint_id as string | undefined;
    if (id === undefined) throw missing('checkpoint_id');
    const values = await Promise.all(
      writes.map(([channel, value]) => this.#serde.dumpsTyped(value, channel)),
    );
    await this.#add(thread, id, () => {
      const encoder = new Encoder(thread.known);
      const record = {
        kind: 'writes' as const,
        id,
        task: taskId,
        path: taskPath,
        writes: writes.map(([channel], index) => {
          const value = encoder.encode(values[index] as Serialized);
          return [WRITES_IDX_MAP[channel] ?? index, channel, value] as const;
        }),
        items: encoder.items,
      };
      if (!thread.ids.has(id)) thread.early.set(id, [...(thread.early.get(id) ?? []), record]);
      return [record];
    });
  }

  /** Deletes a thread with all of its namespaces. A run that continues in it fails with `session_deleted` at its next step. */
  async deleteThread(threadId: string): Promise<void> {
    await this.#delete(threadId, () => true);
  }

  async #delete(threadId: string, isMeant: (namespace: string) => boolean): Promise<void> {
    for await (const { key, namespace } of this.#sessions(threadId)) {
      if (!isMeant(namespace)) continue;
      const known = this.#threads.get(key.toString());
      if (known !== undefined) forget(known);
      await this.#store.delete(key);
    }
  }

  #thread(config: RunnableConfig): Thread {
    const id = config.configurable?.thread_id as unknown;
    if (id === undefined || id === null || id === '') throw missing('thread_id');
    const { tenantId, userId } = this.#options;
    const namespace = namespaceOf(config);
    const key = SessionKey.of({
      tenantId,
      userId,
      agentId: namespace === '' ? this.#agent : `${this.#agent}:${namespace}`,
      sessionId: String(id),
    });
    const name = key.toString();
    const thread = this.#threads.get(name) ?? {
      key,
      log: new ItemLog(this.#store, key, FRAMEWORK),
      gone: new Set(),
      isGone: false,
      ...stateOf(new ThreadIndex([])),
    };
    this.#threads.set(name, thread);
    return thread;
  }

  /** The sessions of this saver's tenant and user, of one thread or all. */
  async *#sessions(thread: string | undefined) {
    const { tenantId, userId } = this.#options;
    for await (const { key } of this.#store.list({ tenantId, userId, sessionId: thread })) {
      const { parts } = key;
      // A scope without a user contains the sessions of all users.
      if (parts.tenantId !== tenantId || parts.userId !== userId || parts.agentId === undefined) continue;
      if (parts.agentId === this.#agent) yield { key, namespace: '' };
      else if (parts.agentId.startsWith(`${this.#agent}:`)) {
        yield { key, namespace: parts.agentId.slice(this.#agent.length + 1) };
      }
    }
  }

  #tuples(index: ThreadIndex): CheckpointTuples {
    return new CheckpointTuples(index, this.serde, () => this.getNextVersion(undefined));
  }

  async #index(key: SessionKey): Promise<ThreadIndex> {
    const log = this.#threads.get(key.toString())?.log ?? new ItemLog(this.#store, key, FRAMEWORK);
    const { messages } = await log.read();
    return indexOf(log, messages);
  }

  /**
   * Loads the thread if needed, and appends the records that `make` returns.
   *
   * @param needs The checkpoint that the records build on.
   * @throws {SessionStoreError} `session_deleted` if that checkpoint was deleted.
   */
  async #add(
    thread: Thread,
    needs: string | undefined,
    make: () => readonly ThreadRecord[] | Promise<readonly ThreadRecord[]>,
  ): Promise<void> {
    if (thread.ids.size === 0) await this.#refuseWithoutRoot(thread);
    await thread.log.append(async (loaded) => {
      // Also runs after a failed commit, to discard the changes that `make` made in `thread`.
      if (loaded !== undefined) {
        const index = indexOf(thread.log, loaded.messages);
        if (!index.isReduced && !index.ids.some((id) => thread.ids.has(id))) forget(thread);
        learn(thread, index);
      }
      // A run whose thread was deleted may have checkpoints that were never written.
      const isGone = (id: string) => thread.gone.has(id) || (thread.isGone && !thread.ids.has(id));
      if (needs !== undefined && isGone(needs)) throw deleted(thread);
      const records = await make();
      thread.since += records.length;
      return messagesOf(thread, records);
    });
  }

  /** Throws if the root namespace was deleted. Otherwise a subgraph that starts would recreate a deleted thread. */
  async #refuseWithoutRoot({ key }: Thread): Promise<void> {
    const root = this.#threads.get(SessionKey.of({ ...key.parts, agentId: this.#agent }).toString());
    if (root === undefined || root.key.toString() === key.toString()) return;
    if (root.ids.size > 0 && (await root.log.read({ last: 1 })).messages.length === 0) forget(root);
    if (root.isGone) throw deleted(root);
  }

  async #retain(thread: Thread, keep: number): Promise<void> {
    let ended: ReadonlySet<string> = new Set();
    await thread.log.change(async ({ messages }) => {
      const index = indexOf(thread.log, messages);
      const tuples = this.#tuples(index);
      const versions = await Promise.all(
        [...index.checkpoints.values()].map(async ({ id, checkpoint }) => {
          return [id, (await tuples.load<Checkpoint>(checkpoint)).channel_versions] as const;
        }),
      );
      const records = index.newest(keep, new Map(versions));
      const left = records === undefined ? index : new ThreadIndex(records);
      ended = index.tasksBut(left);
      learn(thread, left);
      // Do not compute at every step which checkpoints are still needed.
      thread.retainAt = thread.ids.size + keep;
      return records && { keep: 0, append: messagesOf(thread, records) };
    });
    // The namespace of a subgraph contains the ids of the tasks that ran it.
    const isEnded = (namespace: string) => namespace.split(/[|:]/).some((part) => ended.has(part));
    if (ended.size > 0) await this.#delete(thread.key.parts.sessionId, isEnded);
  }
}

function indexOf(log: ItemLog, messages: readonly Message[], isComplete = true): ThreadIndex {
  return new ThreadIndex(
    messages.map((message) => log.item(message) as unknown as ThreadRecord),
    isComplete,
  );
}

function messagesOf({ log }: Thread, records: readonly ThreadRecord[]): readonly Message[] {
  return records.map((record) => log.message(record as unknown as JsonValue));
}

/** Returns the cached state of a thread, with which appending needs no read. */
function stateOf({ recent, since, checkpoints, writes }: ThreadIndex) {
  return {
    known: recent,
    since,
    ids: new Set(checkpoints.keys()),
    /** Number of checkpoints at which retention runs again. */
    retainAt: 0,
    /** Pending writes of checkpoints that are not written yet, by checkpoint id. */
    early: new Map<string, readonly WritesRecord[]>([...writes].filter(([id]) => !checkpoints.has(id))),
  };
}

function learn(thread: Thread, index: ThreadIndex): void {
  Object.assign(thread, stateOf(index));
}

/** Marks a thread as deleted. */
function forget(thread: Thread): void {
  if (thread.ids.size > 0) thread.isGone = true;
  for (const id of thread.ids) thread.gone.add(id);
  learn(thread, new ThreadIndex([]));
}

function deleted({ key }: Thread): SessionStoreError {
  const message =
    `Thread ${JSON.stringify(key.parts.sessionId)} was deleted during a run. Nothing was written. ` +
    'Start a new run.';
  return new SessionStoreError('session_deleted', message, { sessionKey: key.toString() });
}

function namespaceOf(config: RunnableConfig): string {
  return (config.configurable?.checkpoint_ns as string | undefined) ?? '';
}

function missing(key: string): InvalidInputError {
  return new InvalidInputError('config.configurable', [{ path: key, message: 'must be a non-empty string' }]);
}
