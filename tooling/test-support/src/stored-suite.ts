import { readFile } from 'node:fs/promises';
import { eraseUser, exportUser, SessionKey, type SessionStore } from '@x/core';
import { operationId } from '@x/core/store';
import { describe, expect, test } from 'vitest';
import { numbered } from '../../../packages/testkit/src/store-suite/sample-messages.js';
import { listed, noFiles } from '../../../packages/testkit/src/store-suite/store-suite.js';
import { takeLease } from '../../../packages/testkit/src/take-lease.js';
import { expectStored } from './stored-files.js';
import { ALICE, COLLECTION, RECORDS, SESSIONS, STRANGER, statesOf, writeSample } from './stored-sample.js';

/** The stored data of a store, and the fixture of its format. */
export interface StoredData {
  /** The path of the fixture, a text file: `fixtures/stored/1/sessions.sql`. */
  readonly fixture: string;
  /** Opens a store whose sessions never expire on a new, empty area. */
  create(): SessionStore | Promise<SessionStore>;
  /** Returns all data of the area as text. The same sessions give the same text, except for times, UUIDs and `random`. */
  dump(): string | Promise<string>;
  /** Matches random parts of a dump other than UUIDs; a global expression. */
  readonly random?: RegExp | undefined;
  /** Restores a dump to a new, empty area, and opens a store on it. */
  restore(dump: string): SessionStore | Promise<SessionStore>;
}

const TIMEOUT_MS = 120_000;

const keysOf = (sessions: typeof SESSIONS) => sessions.map(({ key }) => `${key}`).sort();
/** Returns the data of a user that the store can hold. */
const ownOf = (store: SessionStore, user: typeof ALICE | typeof STRANGER) =>
  [...SESSIONS, ...(store.collection === undefined ? [] : RECORDS)].filter(({ key }) => key.isWithin(user));
/** Returns the sessions, and the records of a collection if the store has collections. */
const setsOf = (store: SessionStore) => [
  { target: store, sessions: SESSIONS },
  ...(store.collection === undefined ? [] : [{ target: store.collection(COLLECTION), sessions: RECORDS }]),
];

async function isLoadedAndListed(store: SessionStore): Promise<void> {
  for (const { target, sessions } of setsOf(store)) {
    for (const { key, last: _, ...state } of statesOf(sessions)) {
      expect(await target.load(key), `${key}`).toMatchObject(state);
    }
    expect(await listed(target)).toEqual(keysOf(sessions));
    for (const scope of [STRANGER, ALICE, { agentId: 'coder' }, { sessionId: 's-1' }]) {
      const within = sessions.filter(({ key }) => key.isWithin(scope));
      expect(await listed(target, scope), JSON.stringify(scope)).toEqual(keysOf(within));
    }
  }
}

async function isErasedByUser(store: SessionStore): Promise<void> {
  const places = { session: store, storage: noFiles };
  for (const user of [STRANGER, ALICE]) {
    const own = ownOf(store, user);
    const exported: string[] = [];
    for await (const record of exportUser(places, user)) {
      if (record.type === 'session') exported.push(`${SessionKey.of(record.key)}`);
    }
    expect(exported.sort()).toEqual(keysOf(own));
    expect(await eraseUser(places, user)).toMatchObject({ sessions: own.length, busy: [] });
  }
  const rest = SESSIONS.filter(({ key }) => !key.isWithin(STRANGER) && !key.isWithin(ALICE));
  expect(await listed(store)).toEqual(keysOf(rest));
}

async function goesOn(store: SessionStore): Promise<void> {
  for (const { target, sessions } of setsOf(store)) {
    for (const { key, version, token, messages, last } of statesOf(sessions)) {
      expect(await target.commit(key, last)).toBe(version);
      const lease = await takeLease(target, key);
      const append = numbered(1, 'later');
      const change = { expected: token, head: { went: 'on' }, keep: messages.length, append };
      const commit = { ...change, operation: operationId(), fence: lease?.fence };
      expect(await target.commit(key, commit)).toBe(version + 1);
      await lease?.release();
      expect((await target.load(key))?.messages).toEqual([...messages, ...append]);
    }
    expect(await listed(target)).toEqual(keysOf(sessions));
  }
}

async function isDeleted(store: SessionStore): Promise<void> {
  for (const { key } of SESSIONS) expect(await store.delete(key), `${key}`).toBe(true);
  expect(await listed(store)).toEqual([]);
}

/** Tests that a store writes the data of its fixture, and can use that data. */
export function storedSuite(name: string, { fixture, create, dump, random, restore }: StoredData): void {
  describe(`SessionStore: ${name}`, () => {
    test('what is stored is the fixture', { timeout: TIMEOUT_MS }, async () => {
      const store = await create();
      try {
        await writeSample(store);
        expectStored(fixture, await dump(), random);
      } finally {
        await store.close();
      }
    });
    const uses: Readonly<Record<string, (store: SessionStore) => Promise<void>>> = {
      'is loaded and listed': isLoadedAndListed,
      'is exported and erased by user': isErasedByUser,
      'goes on, and knows its last commit': goesOn,
      'is deleted': isDeleted,
    };
    test.each(Object.entries(uses))('the fixture %s', { timeout: TIMEOUT_MS }, async (_, use) => {
      const store = await restore(await readFile(fixture, 'utf8'));
      try {
        await use(store);
      } finally {
        await store.close();
      }
    });
  });
}
