import { createHash } from 'node:crypto';
import { SessionStoreError } from '@x/core';

/** UTF-16 units up to which a text is stored inline. Longer texts are stored once per thread. */
const INLINE = 64;

/** A serialized value: a text, the digest of a text, a list of both, or the bytes of another serializer. */
export type Ref =
  | { readonly text: string }
  | { readonly of: string }
  | { readonly list: readonly Ref[] }
  | { readonly type: string; readonly base64: string };

/** The texts of values by digest. Each is stored once. */
type Items = { readonly [digest: string]: string };

/** A checkpoint with the channel values that the thread does not have yet; `null` for a channel without a value. */
export interface CheckpointRecord {
  readonly kind: 'checkpoint';
  readonly id: string;
  readonly parent?: string | undefined;
  readonly checkpoint: Ref;
  readonly metadata: Ref;
  readonly values: readonly (readonly [channel: string, version: string, value: Ref | null])[];
  /** `true` if the record has all values with their texts, so later records need no earlier ones. */
  readonly whole?: boolean | undefined;
  readonly items: Items;
}

/** Pending writes of a task for a checkpoint. */
export interface WritesRecord {
  readonly kind: 'writes';
  readonly id: string;
  readonly task: string;
  readonly path: string;
  readonly writes: readonly (readonly [index: number, channel: string, value: Ref])[];
  readonly items: Items;
}

/** Channel values whose checkpoints retention has removed. */
interface ValuesRecord {
  readonly kind: 'values';
  readonly values: CheckpointRecord['values'];
  readonly items: Items;
}

export type ThreadRecord = CheckpointRecord | WritesRecord | ValuesRecord;

/** The versions of a checkpoint's channels. */
type Versions = Readonly<Record<string, number | string>>;

/** A value as a LangGraph serializer writes it. */
export type Serialized = readonly [type: string, data: Uint8Array | string];

/** Turns serialized values into references, and collects the texts that the thread does not have yet. */
export class Encoder {
  readonly items: Record<string, string> = {};
  readonly #known: Set<string>;

  /** @param known Digests of the texts in the thread. The encoder adds new ones. */
  constructor(known: Set<string>) {
    this.#known = known;
  }

  encode([type, data]: Serialized): Ref {
    const bytes = Buffer.from(data as Uint8Array);
    if (type !== 'json') return { type, base64: bytes.toString('base64') };
    const text = bytes.toString('utf8');
    // A list of messages grows step by step, so each element is stored once.
    if (!text.startsWith('[') || text.length <= INLINE) return this.#text(text);
    return { list: (JSON.parse(text) as unknown[]).map((element) => this.#text(JSON.stringify(element))) };
  }

  #text(text: string): Ref {
    if (text.length <= INLINE) return { text };
    const digest = createHash('sha256').update(text).digest('base64url').slice(0, 22);
    if (!this.#known.has(digest)) this.items[digest] = text;
    this.#known.add(digest);
    return { of: digest };
  }
}

/** Thrown if a value needs records before those that were read. */
export class BeforeTheseRecords extends Error {}

/** Indexes the records of a thread, or the newest of them. */
export class ThreadIndex {
  /** Checkpoints by id. */
  readonly checkpoints = new Map<string, CheckpointRecord>();
  /** Pending writes by the id of their checkpoint, in the order of the records. */
  readonly writes = new Map<string, WritesRecord[]>();
  readonly items = new Map<string, string>();
  /** Digests of texts and keys of values in the last whole checkpoint and later records. */
  recent = new Set<string>();
  /** Number of records from the last whole checkpoint on. */
  since = 0;
  readonly #values = new Map<string, Ref | null>();
  readonly #isComplete: boolean;
  /** `true` if retention has removed some checkpoints of the thread. */
  isReduced = false;

  constructor(records: Iterable<ThreadRecord>, isComplete = true) {
    this.#isComplete = isComplete;
    for (const record of records) {
      if (record.kind === 'checkpoint' && record.whole) [this.recent, this.since] = [new Set(), 0];
      this.since += 1;
      for (const digest of Object.keys(record.items)) this.recent.add(digest);
      for (const [digest, text] of Object.entries(record.items)) this.items.set(digest, text);
      if (record.kind === 'writes') {
        const own = this.writes.get(record.id);
        if (own) own.push(record);
        else this.writes.set(record.id, [record]);
        continue;
      }
      if (record.kind === 'checkpoint') this.checkpoints.set(record.id, record);
      else this.isReduced = true;
      for (const [channel, version, value] of record.values) {
        const key = keyOf(channel, version);
        this.#values.set(key, value);
        this.recent.add(key);
      }
    }
  }

  /** Ids of the checkpoints, newest first. */
  get ids(): readonly string[] {
    return [...this.checkpoints.keys()].sort().reverse();
  }

  /**
   * Returns the value of a channel at a version, or `undefined` if it had none.
   *
   * @throws {BeforeTheseRecords} if an earlier record may have the value.
   * @throws {SessionStoreError} `session_corrupt` if the value is lost.
   */
  value(channel: string, version: string | number): Ref | undefined {
    const value = this.#values.get(keyOf(channel, version));
    if (value === undefined) this.#lacks(`the value of channel ${channel} at version ${version}`);
    return value ?? undefined;
  }

  /**
   * Returns the pending writes of a checkpoint.
   *
   * @throws {BeforeTheseRecords} if earlier records may have more of them. All come after the record of the parent.
   */
  writesOf({ id, parent }: Pick<CheckpointRecord, 'id' | 'parent'>): readonly WritesRecord[] {
    if (!this.#isComplete && !this.checkpoints.has(parent ?? '')) throw new BeforeTheseRecords();
    return this.writes.get(id) ?? [];
  }

  #lacks(what: string): never {
    if (!this.#isComplete) throw new BeforeTheseRecords();
    throw new SessionStoreError(
      'session_corrupt',
      `Records of the thread are lost: it lacks ${what}. Nothing was changed. Continue from another checkpoint, or delete the thread.`,
    );
  }

  decode(ref: Ref): Serialized {
    return 'base64' in ref ? [ref.type, Buffer.from(ref.base64, 'base64')] : ['json', this.#textOf(ref)];
  }

  /**
   * Returns the records of the thread with only the newest `keep` checkpoints. Includes their pending writes, and those of checkpoints that
   * are not written yet. Returns `undefined` if an older checkpoint is still needed to compute a value.
   *
   * @param versions The versions of a checkpoint's channels, by its id.
   */
  newest(keep: number, versions: ReadonlyMap<string, Versions>): readonly ThreadRecord[] | undefined {
    const kept = this.ids.slice(0, keep).reverse();
    const values = new Map<string, CheckpointRecord['values'][number]>();
    const records: ThreadRecord[] = [];
    for (const id of kept) {
      const record = this.checkpoints.get(id) as CheckpointRecord;
      const isFirst = !kept.includes(record.parent ?? '');
      for (const [channel, version] of Object.entries(versions.get(id) ?? {})) {
        const key = keyOf(channel, version);
        const value = this.#values.get(key);
        if (value !== undefined) values.set(key, [channel, String(version), value]);
        if (!value && isFirst && this.#isOfDeltas(channel, record, versions)) return undefined;
      }
      records.push({ ...record, whole: undefined, values: [], items: {} });
    }
    for (const [id, written] of this.writes) {
      const isToCome = !this.checkpoints.has(id) && id > (kept[0] as string);
      if (isToCome || kept.includes(id)) records.push(...written.map((writes) => ({ ...writes, items: {} })));
    }
    const items = Object.fromEntries(
      [...digestsIn([...values.values(), ...records])].map((digest) => [
        digest,
        this.items.get(digest) ?? '',
      ]),
    );
    return [{ kind: 'values', values: [...values.values()], items }, ...records];
  }

  /** Returns the ids of tasks with writes in this thread but not in `other`. They belong to steps that `other` does not contain. */
  tasksBut(other: ThreadIndex): ReadonlySet<string> {
    const tasks = (index: ThreadIndex) => [...index.writes.values()].flat().map(({ task }) => task);
    const left = new Set(tasks(other));
    return new Set(tasks(this).filter((task) => !left.has(task)));
  }

  /**
   * Tests if the value of a channel without a stored value is computed from deltas: the writes of ancestors since the last stored value.
   * For a channel that was emptied, these writes were stored as a value before.
   */
  #isOfDeltas(channel: string, record: CheckpointRecord, versions: ReadonlyMap<string, Versions>): boolean {
    for (let parent = record.parent; parent !== undefined; parent = this.checkpoints.get(parent)?.parent) {
      const written = this.writes.get(parent) ?? [];
      if (written.some(({ writes }) => writes.some(([, name]) => name === channel))) return true;
      const version = versions.get(parent)?.[channel];
      if (version !== undefined && this.#values.get(keyOf(channel, version))) return false;
    }
    return false;
  }

  #textOf(ref: Ref): string {
    if ('text' in ref) return ref.text;
    if ('list' in ref) return `[${ref.list.map((element) => this.#textOf(element)).join(',')}]`;
    const text = 'of' in ref ? this.items.get(ref.of) : undefined;
    return text ?? this.#lacks('a text');
  }
}

/** Returns the key of a channel's value at a version. */
export function keyOf(channel: string, version: string | number): string {
  return JSON.stringify([channel, String(version)]);
}

function digestsIn(value: unknown): Set<string> {
  const found = new Set<string>();
  JSON.stringify(value, (key, child: unknown) => {
    if (key === 'of' && typeof child === 'string') found.add(child);
    return child;
  });
  return found;
}
