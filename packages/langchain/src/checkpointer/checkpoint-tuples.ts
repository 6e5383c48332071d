import {
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  compareWritesSortKeys,
  maxChannelVersion,
  type SerializerProtocol,
  TASKS,
  writesSortKey,
} from '@langchain/langgraph-checkpoint';
import type { CheckpointRecord, Ref, ThreadIndex, WritesRecord } from './thread-records.js';

/** Builds LangGraph's checkpoint tuples from the records of a thread. */
export class CheckpointTuples {
  readonly #index: ThreadIndex;
  readonly #serde: SerializerProtocol;
  readonly #firstVersion: () => number;

  constructor(index: ThreadIndex, serde: SerializerProtocol, firstVersion: () => number) {
    this.#index = index;
    this.#serde = serde;
    this.#firstVersion = firstVersion;
  }

  async load<Value>(ref: Ref): Promise<Value> {
    return (await this.#serde.loadsTyped(...this.#index.decode(ref))) as Value;
  }

  /**
   * @throws {BeforeTheseRecords} if earlier records contain a part of the checkpoint.
   * @throws {SessionStoreError} `session_corrupt` if a part of the checkpoint is lost.
   */
  async tuple(record: CheckpointRecord, thread_id: string, checkpoint_ns: string): Promise<CheckpointTuple> {
    const checkpoint = await this.load<Checkpoint>(record.checkpoint);
    checkpoint.channel_values = {};
    for (const [channel, version] of Object.entries(checkpoint.channel_versions)) {
      const value = this.#index.value(channel, version);
      if (value !== undefined) checkpoint.channel_values[channel] = await this.load(value);
    }
    const { id, parent } = record;
    if (checkpoint.v < 4 && parent !== undefined) await this.#migrateSends(checkpoint, parent);
    const at = (checkpoint_id: string) => ({ configurable: { thread_id, checkpoint_ns, checkpoint_id } });
    return {
      config: at(id),
      checkpoint,
      metadata: await this.load<CheckpointMetadata>(record.metadata),
      pendingWrites: await this.#pendingWrites(record),
      ...(parent === undefined ? {} : { parentConfig: at(parent) }),
    };
  }

  /** Returns the pending writes of a checkpoint, in the order in which a step applies them. */
  async #pendingWrites(
    checkpoint: Pick<CheckpointRecord, 'id' | 'parent'>,
  ): Promise<CheckpointPendingWrite[]> {
    const byPlace = new Map<string, readonly [WritesRecord, WritesRecord['writes'][number]]>();
    for (const record of this.#index.writesOf(checkpoint)) {
      for (const write of record.writes) {
        const place = JSON.stringify([record.task, write[0]]);
        // A task that runs again writes the same values. Only errors and interrupts, whose index is below 0, are replaced.
        if (write[0] < 0 || !byPlace.has(place)) byPlace.set(place, [record, write]);
      }
    }
    const sorted = [...byPlace.values()].sort(([a, [left]], [b, [right]]) =>
      compareWritesSortKeys(writesSortKey(a.path, a.task, left), writesSortKey(b.path, b.task, right)),
    );
    return Promise.all(
      sorted.map(async ([{ task }, [, channel, value]]) => [task, channel, await this.load(value)]),
    );
  }

  /** Moves the sends of checkpoints before version 4, which were pending writes of the parent, into the channel for them. */
  async #migrateSends(checkpoint: Checkpoint, parent: string): Promise<void> {
    const writes = await this.#pendingWrites({ id: parent });
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = writes
      .filter(([, channel]) => channel === TASKS)
      .map(([, , send]) => send);
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.#firstVersion();
  }
}
