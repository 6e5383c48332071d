import { isDeepStrictEqual } from 'node:util';
import type { RunnableConfig } from '@langchain/core/runnables';
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  compareWritesSortKeys,
  copyCheckpoint,
  getCheckpointId,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
  WRITES_IDX_MAP,
  writesSortKey,
} from '@langchain/langgraph-checkpoint';
import {
  InvalidInputError,
  ItemLog,
  type JsonValue,
  type Message,
  parseWith,
  SessionKey,
  type SessionStore,
} from '@x/core';
import * as z from 'zod';
import {
  BeforeTheseRecords,
  type CheckpointRecord,
  Encoder,
  type Serialized,
  ThreadIndex,
  type ThreadRecord,
  type WritesRecord,
} from './thread-records.js';

const optionsSchema = z.strictObject({
  /** Where the threads live; the saver never closes it. */
  store: z.custom<SessionStore>(
    (value) => typeof (value as SessionStore | undefined)?.commit === 'function',
    'must be a SessionStore',
  ),
  /** Whose threads they are: no other tenant's or user's can be read, listed or deleted. Default: nobody's. */
  tenantId: z.string().min(1).optional(),
  userId: z.string().min(1).optional(),
  /** Keeps threads of different graphs in one store apart. Default `langgraph`. */
  agentId: z.string().min(1).default('langgraph'),
  /** Checkpoints that a thread keeps, per namespace: between this many and twice as many. Default: all. */
  keep: z.int().positive().optional(),
  /** Writes values. Default: LangGraph's own. */
  serde: z.custom<SerializerProtocol>().optional(),
});

export type SessionSaverOptions = Readonly<z.input<typeof optionsSchema>>;

const FRAMEWORK = 'langgraph';
/** Records that are read first for one checkpoint, four times as many where it needs what stands before them. */
const FIRST_READ = 128;
/** Records between a checkpoint and its parent, as a rule. */
const FEW = 8;
/** A checkpoint is written whole after so many records, or four for each element of its values. */
const WHOLE_AFTER = 64;
/** How many threads stay known, so that adding to them reads nothing. */
const MAX_THREADS = 256;

interface Thread {
  readonly key: SessionKey;
  readonly log: ItemLog;
  /** Digests of the texts that stand in its last whole checkpoint or behind it, and how many records do. */
  known: Set<string>;
  since: number;
  checkpoints: number;
}

/**
 * A LangGraph checkpointer over any session store. A thread and namespace is one session of append-only records: a
 * checkpoint writes what is new with it, and each message of a list is kept once, however many checkpoints hold it.
 *
 * @example
 * ```ts
 * const checkpointer = new SessionSaver({ store: new JsonSession({ directory: './threads' }), keep: 100 });
 * const graph = builder.compile({ checkpointer });
 * ```
 */
export class SessionSaver extends BaseCheckpointSaver {
  readonly #options: z.output<typeof optionsSchema>;
  /** The agent id without the sign that parts it from a namespace. */
  readonly #agent: string;
  /** By key; least recently used first. */
  readonly #threads = new Map<string, Thread>();

  /** @throws {InvalidInputError} naming an option that is missing, unknown or wrong. */
  constructor(options: SessionSaverOptions) {
    super(options.serde);
    this.#options = parseWith(optionsSchema, options, 'SessionSaverOptions');
    this.#agent = this.#options.agentId.replace(/[%:]/g, encodeURIComponent);
  }

  /** Makes versions that no fork of the thread makes again: values are kept by channel and version. */
  override getNextVersion(current: number | undefined): number {
    return Math.floor(current ?? 0) + 1 + Math.random();
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id: thread } = config.configurable ?? {};
    if (thread === undefined) return undefined;
    const { log, since } = this.#thread(config);
    for (let last = since > 0 ? since + FEW : FIRST_READ; ; last *= 4) {
      const { messages } = await log.read({ last });
      const isComplete = messages.length < last;
      const index = indexOf(log, messages, isComplete);
      const id = getCheckpointId(config) || index.ids[0];
      const record = id === undefined ? undefined : index.checkpoints.get(id);
      if (record === undefined) {
        if (isComplete) return undefined;
        continue;
      }
      try {
        return await this.#tuple(index, record, String(thread), namespaceOf(config));
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
      for (const id of index.ids) {
        if (left <= 0) return;
        if ((wanted && id !== wanted) || (end && id >= end)) continue;
        const record = index.checkpoints.get(id) as CheckpointRecord;
        const metadata = await this.#load<Record<string, unknown>>(index.decode(record.metadata));
        if (!Object.entries(filter).every(([key, value]) => isDeepStrictEqual(metadata[key], value)))
          continue;
        left -= 1;
        yield await this.#tuple(index, record, found.key.parts.sessionId, found.namespace);
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
    const parts = await Promise.all([this.serde.dumpsTyped(rest), this.serde.dumpsTyped(metadata)]);
    const isWhole = thread.since >= Math.max(WHOLE_AFTER, 4 * Object.values(values).flat().length);
    const changed = await Promise.all(
      Object.entries(isWhole ? checkpoint.channel_versions : newVersions).map(async ([channel, version]) => {
        const value = channel in values ? await this.serde.dumpsTyped(values[channel]) : null;
        return [channel, String(version), value] as const;
      }),
    );
    const parent = config.configurable?.checkpoint_id as string | undefined;
    const record = (encoder: Encoder): CheckpointRecord => ({
      kind: 'checkpoint',
      id: checkpoint.id,
      ...(parent === undefined ? {} : { parent }),
      checkpoint: encoder.encode(parts[0]),
      metadata: encoder.encode(parts[1]),
      values: changed.map(([channel, version, value]) => [channel, version, value && encoder.encode(value)]),
      ...(isWhole ? { whole: true } : {}),
      items: encoder.items,
    });
    await this.#add(thread, record, isWhole);
    thread.checkpoints += 1;
    const { keep } = this.#options;
    if (keep !== undefined && thread.checkpoints >= 2 * keep) await this.#retain(thread, keep);
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
    const values = await Promise.all(writes.map(([, value]) => this.serde.dumpsTyped(value)));
    await this.#add(thread, (encoder) => ({
      kind: 'writes',
      id,
      task: taskId,
      path: taskPath,
      writes: writes.map(([channel], index) => {
        return [WRITES_IDX_MAP[channel] ?? index, channel, encoder.encode(values[index] as Serialized)];
      }),
      items: encoder.items,
    }));
  }

  async deleteThread(threadId: string): Promise<void> {
    for await (const { key } of this.#sessions(threadId)) {
      this.#threads.delete(key.toString());
      await this.#options.store.delete(key);
    }
  }

  #thread(config: RunnableConfig): Thread {
    const id = config.configurable?.thread_id as unknown;
    if (id === undefined || id === null || id === '') throw missing('thread_id');
    const { tenantId, userId, store } = this.#options;
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
      log: new ItemLog(store, key, FRAMEWORK),
      known: new Set<string>(),
      since: 0,
      checkpoints: 0,
    };
    this.#threads.delete(name);
    this.#threads.set(name, thread);
    const [oldest] = this.#threads.keys();
    if (this.#threads.size > MAX_THREADS && oldest !== undefined) this.#threads.delete(oldest);
    return thread;
  }

  /** The sessions of this saver's tenant and user, of one thread or all. */
  async *#sessions(thread: string | undefined) {
    const { store, tenantId, userId } = this.#options;
    for await (const { key } of store.list({ tenantId, userId, sessionId: thread })) {
      const { parts } = key;
      // A scope without a user is everybody's.
      if (parts.tenantId !== tenantId || parts.userId !== userId || parts.agentId === undefined) continue;
      if (parts.agentId === this.#agent) yield { key, namespace: '' };
      else if (parts.agentId.startsWith(`${this.#agent}:`)) {
        yield { key, namespace: parts.agentId.slice(this.#agent.length + 1) };
      }
    }
  }

  async #index(key: SessionKey): Promise<ThreadIndex> {
    const log = this.#threads.get(key.toString())?.log ?? new ItemLog(this.#options.store, key, FRAMEWORK);
    const { messages } = await log.read();
    return indexOf(log, messages);
  }

  async #add(thread: Thread, make: (encoder: Encoder) => ThreadRecord, isWhole = false): Promise<void> {
    let added: ThreadRecord | undefined;
    await thread.log.append((loaded) => {
      if (loaded !== undefined) learn(thread, indexOf(thread.log, loaded.messages));
      added = make(new Encoder(isWhole ? new Set() : thread.known));
      return [thread.log.message(added as unknown as JsonValue)];
    });
    if (isWhole) [thread.known, thread.since] = [new Set(), 0];
    thread.since += 1;
    for (const digest of Object.keys(added?.items ?? {})) thread.known.add(digest);
  }

  async #retain(thread: Thread, keep: number): Promise<void> {
    await thread.log.change(async ({ messages }) => {
      const index = indexOf(thread.log, messages);
      const versions = await Promise.all(
        [...index.checkpoints.values()].map(async ({ id, checkpoint }) => {
          return [id, (await this.#load<Checkpoint>(index.decode(checkpoint))).channel_versions] as const;
        }),
      );
      const records = index.newest(keep, new Map(versions));
      learn(thread, records === undefined ? index : new ThreadIndex(records));
      // What is still needed is not asked for at every step.
      if (records === undefined) thread.checkpoints = keep;
      return (
        records && {
          keep: 0,
          append: records.map((record) => thread.log.message(record as unknown as JsonValue)),
        }
      );
    });
  }

  async #tuple(
    index: ThreadIndex,
    record: CheckpointRecord,
    thread_id: string,
    checkpoint_ns: string,
  ): Promise<CheckpointTuple> {
    const checkpoint = await this.#load<Checkpoint>(index.decode(record.checkpoint));
    checkpoint.channel_values = {};
    for (const [channel, version] of Object.entries(checkpoint.channel_versions)) {
      const value = index.value(channel, String(version));
      if (value !== undefined) checkpoint.channel_values[channel] = await this.#load(index.decode(value));
    }
    const { id, parent } = record;
    if (checkpoint.v < 4 && parent !== undefined) await this.#migrateSends(index, checkpoint, parent);
    const at = (checkpoint_id: string) => ({ configurable: { thread_id, checkpoint_ns, checkpoint_id } });
    return {
      config: at(id),
      checkpoint,
      metadata: await this.#load<CheckpointMetadata>(index.decode(record.metadata)),
      pendingWrites: await this.#pendingWrites(index, record),
      ...(parent === undefined ? {} : { parentConfig: at(parent) }),
    };
  }

  /** The writes beside a checkpoint, in the order in which a step applies them. */
  async #pendingWrites(
    index: ThreadIndex,
    checkpoint: Pick<CheckpointRecord, 'id' | 'parent'>,
  ): Promise<CheckpointPendingWrite[]> {
    const byPlace = new Map<string, readonly [WritesRecord, WritesRecord['writes'][number]]>();
    for (const record of index.writesOf(checkpoint)) {
      for (const write of record.writes) {
        const place = JSON.stringify([record.task, write[0]]);
        // A task that is run again writes the same; only errors and interrupts, which count below 0, are replaced.
        if (write[0] < 0 || !byPlace.has(place)) byPlace.set(place, [record, write]);
      }
    }
    const sorted = [...byPlace.values()].sort(([a, [left]], [b, [right]]) =>
      compareWritesSortKeys(writesSortKey(a.path, a.task, left), writesSortKey(b.path, b.task, right)),
    );
    return Promise.all(
      sorted.map(async ([{ task }, [, channel, value]]) => [
        task,
        channel,
        await this.#load(index.decode(value)),
      ]),
    );
  }

  /** Puts what checkpoints before version 4 kept beside their parents into the channel where it is now. */
  async #migrateSends(index: ThreadIndex, checkpoint: Checkpoint, parent: string): Promise<void> {
    const writes = await this.#pendingWrites(index, { id: parent });
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = writes
      .filter(([, channel]) => channel === TASKS)
      .map(([, , send]) => send);
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }

  async #load<Value>([type, data]: Serialized): Promise<Value> {
    return (await this.serde.loadsTyped(type, data)) as Value;
  }
}

function indexOf(log: ItemLog, messages: readonly Message[], isComplete = true): ThreadIndex {
  return new ThreadIndex(
    messages.map((message) => log.item(message) as unknown as ThreadRecord),
    isComplete,
  );
}

function learn(thread: Thread, index: ThreadIndex): void {
  thread.known = index.recent;
  thread.since = index.since;
  thread.checkpoints = index.checkpoints.size;
}

function namespaceOf(config: RunnableConfig): string {
  return (config.configurable?.checkpoint_ns as string | undefined) ?? '';
}

function missing(key: string): InvalidInputError {
  return new InvalidInputError('config.configurable', [
    { path: key, message: 'must be given, as a text that is not empty' },
  ]);
}
