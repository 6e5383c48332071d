import {
  InvalidInputError,
  type Message,
  SessionConflictError,
  SessionKey,
  SessionLeaseError,
  type SessionStore,
} from '@x/core';
import { type LeaseClaim, operationId, type SessionChange } from '@x/core/store';
import { describe, expect } from 'vitest';
import { errorOf } from '../error-of.js';
import { randomNumbers } from '../random-numbers.js';
import { claimOf } from '../take-lease.js';
import { numbered } from './sample-messages.js';
import type { StoreSuite } from './store-suite.js';

const SEEDS = [1, 2, 3];
const STEPS = 250;
const KEYS = [{}, { userId: 'u' }, { tenantId: 'u', userId: 'u' }].map((parts) =>
  SessionKey.of({ ...parts, sessionId: 's' }),
);
/** The sets of records under test: the sessions, and a collection. */
const SETS = [undefined, 'chats'];

interface Modelled {
  readonly token: string;
  readonly version: number;
  readonly head: { readonly title: string };
  readonly messages: readonly Message[];
}

/** A key in one set, and its expected state. */
interface Place {
  readonly set: string | undefined;
  readonly key: SessionKey;
  stored?: Modelled | undefined;
  /** The tokens of all commits, including those before a deletion. */
  readonly tokens: string[];
  /** The commits since the last deletion, with their versions. */
  done: { readonly change: SessionChange; readonly version: number }[];
  lease?: Lease | undefined;
  /** Whether the last lease was released. Its holder may write until another lease is granted. */
  isReleased?: boolean;
  /** All granted leases, the newest last. */
  readonly granted: Lease[];
}

interface Lease {
  readonly claim: LeaseClaim;
  readonly fence: number;
}

type Below = (bound: number) => number;
type Action = (place: Place, store: SessionStore, below: Below) => Promise<void>;

const turn: Action = (place, store, below) => {
  const fence = below(2) === 0 ? undefined : place.lease?.fence;
  return commit(place, store, { keep: place.stored?.messages.length ?? 0, fence });
};
const ACTIONS: readonly Action[] = [
  // Mostly turns that only append, as in practice.
  ...[turn, turn, turn],
  async function cut(place, store, below) {
    await commit(place, store, { keep: below((place.stored?.messages.length ?? 0) + 1) });
  },
  async function repeat({ key, done }, store, below) {
    const earlier = done.at(-1 - below(5));
    if (earlier !== undefined) expect(await store.commit(key, earlier.change)).toBe(earlier.version);
  },
  async function commitOnAnotherVersion({ key, ...place }, store, below) {
    const expected = anotherToken(place, below);
    const refused = store.commit(key, changeOf({ expected }));
    const actualVersion = place.stored?.version ?? 0;
    expect(await errorOf(SessionConflictError, refused)).toMatchObject({
      sessionKey: `${key}`,
      actualVersion,
    });
  },
  async function keepTooMany({ key, stored }, store) {
    const change = changeOf({ expected: stored?.token, keep: (stored?.messages.length ?? 0) + 1 });
    await errorOf(InvalidInputError, store.commit(key, change));
  },
  async function remove(place, store, below) {
    const { key, stored, lease } = place;
    const unlessLeased = below(2) === 0;
    const over = below(2) === 0 ? undefined : lease?.fence;
    const isKept = unlessLeased && lease !== undefined && over === undefined;
    const token = below(2) === 0 ? undefined : stored?.token;
    expect(await store.delete(key, { token, unlessLeased, over })).toBe(!isKept && stored !== undefined);
    if (isKept) return;
    place.stored = undefined;
    place.lease = undefined;
    place.done = [];
  },
  async function removeAnotherVersion({ key, ...place }, store, below) {
    const token = anotherToken(place, below) ?? 'none';
    expect(await store.delete(key, { token })).toBe(false);
  },
];

/** Additional actions for stores with leases. */
const LEASE_ACTIONS: readonly Action[] = [
  (place, store) => take(place, store, { isGranted: place.lease === undefined }),
  async function takeAgain(place, store) {
    if (place.lease) await take(place, store, { claim: place.lease.claim, isGranted: true });
  },
  async function takeOver(place, store, below) {
    const over = place.granted.at(-1 - below(2))?.fence ?? 1;
    await take(place, store, { over, isGranted: place.lease === undefined || place.lease.fence === over });
  },
  async function release(place, store, below) {
    const claim = place.granted.at(-1 - below(2))?.claim;
    if (claim) await store.leases?.release(place.key, claim);
    if (claim === undefined || claim.token !== place.lease?.claim.token) return;
    place.lease = undefined;
    place.isReleased = true;
  },
  async function confirm({ key, lease, granted }, store, below) {
    const one = lease && granted.at(-1 - below(2));
    if (one) expect(await store.leases?.confirm(key, one.claim, one.fence)).toBe(one.fence === lease.fence);
  },
  async function commitLate({ key, stored, lease, granted, isReleased }, store, below) {
    const fence = granted[below(granted.length)]?.fence;
    const free = isReleased ? granted.at(-1)?.fence : lease?.fence;
    if (fence === undefined || fence === free) return;
    const { length } = stored?.messages ?? [];
    const keep = below(2) === 0 ? length : below(length + 1);
    const late = store.commit(key, changeOf({ expected: stored?.token, keep, fence }));
    expect(await errorOf(SessionLeaseError, late)).toMatchObject({
      code: 'lease_lost',
      sessionKey: `${key}`,
    });
  },
];

async function take(
  place: Place,
  { leases }: SessionStore,
  own: { readonly isGranted: boolean; readonly claim?: LeaseClaim; readonly over?: number },
): Promise<void> {
  const { isGranted, claim = claimOf(), over } = own;
  const fence = await leases?.take(place.key, claim, { over });
  if (!isGranted) return expect(fence).toBeUndefined();
  const newest = place.granted.at(-1);
  const least = (newest?.fence ?? -1) + (newest?.claim === claim ? 0 : 1);
  expect(fence).toBeGreaterThanOrEqual(least);
  place.lease = { claim, fence: Number(fence) };
  place.isReleased = false;
  place.granted.push(place.lease);
}

/** Tests that any sequence of changes and leases, by any instance and in any set, has the same result as on a plain array. */
export function randomChanges(suite: StoreSuite): void {
  describe('random changes', () => {
    for (const seed of SEEDS) {
      suite.test(`random sequence ${seed} has the same result as on an array`, async (first, reopen) => {
        const below = randomNumbers(seed);
        const pick = <T>(list: readonly T[]) => list[below(list.length)] as T;
        const stores = suite.options.reopen === undefined ? [first] : [first, await reopen()];
        const sets = SETS.filter((set) => set === undefined || first.collection !== undefined);
        const open = (set: string | undefined) => {
          const store = pick(stores);
          return set === undefined ? store : (store.collection?.(set) ?? store);
        };
        const places = sets.flatMap((set) =>
          KEYS.map((key): Place => ({ set, key, tokens: [], done: [], granted: [] })),
        );
        const actions = [...ACTIONS, ...(first.leases === undefined ? [] : LEASE_ACTIONS)];
        for (let step = 0; step < STEPS; step++) {
          const place = pick(places);
          await pick(actions)(place, open(place.set), below);
          await expectStored(place, open(place.set), below);
        }
        for (const place of places) await expectStored(place, open(place.set), below);
        for (const set of sets) await expectListed(set, places, open(set));
      });
    }
  });
}

async function commit(
  place: Place,
  store: SessionStore,
  { keep, fence }: { readonly keep: number; readonly fence?: number | undefined },
): Promise<void> {
  const { stored, tokens, key } = place;
  const { version: before = 0, messages = [], token: expected } = stored ?? {};
  const head = { title: `t${tokens.length}` };
  // Every third turn appends messages that are already stored, and every fourth appends none.
  const append = numbered(tokens.length % 4, tokens.length % 3 === 0 ? '' : `${tokens.length}-`);
  const change = changeOf({ expected, head, keep, append, fence });
  const version = before + 1;
  expect(await store.commit(key, change)).toBe(version);
  tokens.push(change.operation);
  place.done.push({ change, version });
  place.stored = {
    token: change.operation,
    version,
    head,
    messages: [...messages.slice(0, keep), ...append],
  };
}

function changeOf(own: Partial<SessionChange>): SessionChange {
  return { operation: operationId(), expected: undefined, head: {}, keep: 0, append: [], ...own };
}

/** Returns a token of a writer that has seen another state. */
function anotherToken(
  { stored, tokens }: Pick<Place, 'stored' | 'tokens'>,
  below: Below,
): string | undefined {
  const others = [undefined, '', ' ', 'none', ...tokens].filter((token) => token !== stored?.token);
  return others[below(others.length)];
}

async function expectStored(
  { key, set, stored, lease }: Place,
  store: SessionStore,
  below: Below,
): Promise<void> {
  const found = await store.load(key);
  expect(found && { ...found, updatedAt: undefined }, `${set ?? 'sessions'}: ${key}`).toEqual(stored);
  const last = below(8);
  const messages = last === 0 ? [] : stored?.messages.slice(-last);
  expect((await store.load(key, { last }))?.messages).toEqual(stored && messages);
  expect(await store.leases?.find(key)).toEqual(lease && { ...lease.claim, fence: lease.fence });
}

/** Expects that a set lists exactly the expected sessions, in a scope and page by page. */
async function expectListed(
  set: string | undefined,
  places: readonly Place[],
  store: SessionStore,
): Promise<void> {
  for (const scope of [{}, { userId: 'u' }]) {
    const found: unknown[] = [];
    const limit = 2;
    let after: string | undefined;
    let count: number;
    do {
      count = 0;
      for await (const { key, title, version, messages, cursor } of store.list(scope, { limit, after })) {
        found.push([`${key}`, title, version, messages]);
        after = cursor;
        count++;
      }
      // Bounded, because a store that ignores the cursor would never end.
    } while (count === limit && found.length <= places.length);
    const expected = places.flatMap(({ set: own, key, stored }) =>
      own === set && stored && key.isWithin(scope)
        ? [[`${key}`, stored.head.title, stored.version, stored.messages.length]]
        : [],
    );
    expect(found.sort()).toEqual(expected.sort());
  }
}
