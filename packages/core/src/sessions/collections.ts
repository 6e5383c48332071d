import * as z from 'zod';
import { parseWith } from '../config/parse.js';
import { CapabilityError } from '../errors/call-errors.js';
import { isUnreadable, namingCollection } from '../errors/session-errors.js';
import type { SessionKey } from './session-key.js';
import type { SessionStore } from './session-store.js';
import { wrapLeases, wrapStore } from './wrappers/wrap-store.js';

const NAME = /^[a-z][a-z0-9-]{0,31}$/;
const nameSchema = z.strictObject({
  name: z
    .string()
    .regex(NAME, 'must begin with a letter and contain up to 32 lower-case letters, digits and hyphens'),
});

/**
 * Validates the name of a collection. `collection` of every store calls it first.
 *
 * @throws {InvalidInputError} for an invalid name.
 */
export function collectionName(name: string): string {
  return parseWith(nameSchema, { name }, 'collection').name;
}

/**
 * Creates the store that `collection` of a store returns. It has no collections, its `close` does nothing, and its errors name the
 * collection.
 */
export function asCollection(records: SessionStore, name: string): SessionStore {
  const named = async <T>(task: () => Promise<T>): Promise<T> => {
    try {
      return await task();
    } catch (error) {
      throw namingCollection(error, name);
    }
  };
  const {
    collection: _,
    collections: __,
    ...methods
  } = wrapStore(records, (inner) => {
    const { leases } = inner;
    return {
      load: (key, options) => named(() => inner.load(key, options)),
      commit: (key, change) => named(() => inner.commit(key, change)),
      delete: (key, options) => named(() => inner.delete(key, options)),
      async *list(scope, options) {
        try {
          yield* inner.list(scope, options);
        } catch (error) {
          throw namingCollection(error, name);
        }
      },
      ...(leases && { leases: wrapLeases(leases, (_, __, task) => named(task)) }),
      close: async () => {},
    };
  });
  return methods;
}

/**
 * Opens a collection of a store.
 *
 * @throws {CapabilityError} when the store has no collections.
 */
export function collectionOf(store: SessionStore, name: string): SessionStore {
  const collection = store.collection?.(name);
  if (collection !== undefined) return collection;
  throw new CapabilityError(
    'session.collection',
    `The session store has no collections, so the collection "${name}" cannot be opened. Use InMemorySession, JsonSession, ` +
      'WorkspaceSession, SqliteSession, RedisSession, MysqlSession or PostgresSession, or implement `collection` in your store.',
  );
}

/** A session, or a record of a collection. */
export interface RecordPlace {
  readonly key: SessionKey;
  /** The name of the collection; `undefined` for a session. */
  readonly collection: string | undefined;
}

/** Returns the name of a record for people: its key, after `<collection>:` if it is in a collection. */
export function recordName({ key, collection }: RecordPlace): string {
  return collection === undefined ? `${key}` : `${collection}:${key}`;
}

/** The sessions of a store, or one of its collections. */
export interface RecordSet {
  /** `undefined` for the sessions. */
  readonly collection: string | undefined;
  readonly records: SessionStore;
}

/** Returns all record sets of a store: its sessions, then each collection that is not empty. */
export async function recordSets(store: SessionStore): Promise<readonly RecordSet[]> {
  const sets: RecordSet[] = [{ collection: undefined, records: store }];
  for await (const name of store.collections?.() ?? [])
    sets.push({ collection: name, records: collectionOf(store, name) });
  return sets;
}

/** Filters names to those of collections that are not empty. A collection with only unreadable records is not empty. */
export async function* filledCollections(
  names: AsyncIterable<string> | Iterable<string>,
  open: (name: string) => SessionStore,
): AsyncGenerator<string, void, undefined> {
  for await (const name of names) if (NAME.test(name) && (await isFilled(open(name)))) yield name;
}

async function isFilled(records: SessionStore): Promise<boolean> {
  try {
    for await (const _ of records.list({}, { limit: 1 })) return true;
    return false;
  } catch (error) {
    if (isUnreadable(error)) return true;
    throw error;
  }
}
