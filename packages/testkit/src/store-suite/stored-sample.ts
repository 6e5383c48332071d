import { type JsonObject, type Message, SessionKey, type SessionKeyParts, type SessionStore } from '@x/core';
import { takeLease } from '../take-lease.js';
import { everyHead, everyMessage, numbered } from './sample-messages.js';

/** One commit. */
interface Change {
  readonly keep?: number;
  readonly append?: readonly Message[];
  readonly head?: JsonObject;
}

interface SampleSession {
  readonly key: SessionKey;
  readonly changes: readonly Change[];
}

/** A session or record of the sample as a store must load it. */
export interface SampleState {
  readonly key: SessionKey;
  readonly version: number;
  readonly head: JsonObject;
  readonly messages: readonly Message[];
  readonly token: string;
  /** The last commit, which is applied once. */
  readonly last: Parameters<SessionStore['commit']>[1];
}

/** A person whose ids have letters of other scripts, and characters that mean something in paths, SQL and patterns. */
export const STRANGER = { tenantId: 'Größe & Co/KG', userId: 'ünï 漢🦀 %_' } as const;
export const ALICE = { userId: 'alice' } as const;
/** Longer than a name of a file, an index of a database or a part of a path may be. */
const LONG_ID = 'long-'.repeat(120);
export const COLLECTION = 'stored-records';

const session = (parts: SessionKeyParts, ...changes: readonly Change[]): SampleSession => ({
  key: SessionKey.of(parts),
  changes,
});
const summary: Message = {
  id: 'summary-0',
  role: 'user',
  kind: 'summary',
  content: [{ type: 'text', text: 'What was said: <history> & "quotes"' }],
  createdAt: '2026-01-02T03:04:05.678Z',
};

/** Never change these: what was stored in an earlier format contains them. Add others. */
export const SESSIONS: readonly SampleSession[] = [
  session(
    { ...STRANGER, agentId: 'coder/reviewer', sessionId: 's:1 – "first"' },
    { append: everyMessage(), head: everyHead },
    { keep: 7, append: numbered(3), head: { title: 'ünï', turns: 2 } },
    // A compaction.
    { keep: 0, append: [summary, ...numbered(2, 'after')], head: { title: 'compacted', turns: 3 } },
    { keep: 3, append: numbered(1, 'next'), head: { title: 'compacted', turns: 4 } },
  ),
  session({ ...STRANGER, sessionId: LONG_ID }, { append: everyMessage(), head: everyHead }),
  session(
    { ...ALICE, agentId: 'coder', sessionId: 's-1' },
    { append: numbered(5), head: { title: 'Ports', metadata: { topic: 'ports' } } },
    { keep: 3, append: numbered(2, 'again'), head: { title: 'Ports' } },
  ),
  session({ ...ALICE, sessionId: 'empty' }, {}),
  session({ userId: 'bob', agentId: 'coder', sessionId: 's-1' }, { append: numbered(1) }),
  session({ sessionId: 'of nobody' }, { append: numbered(1) }),
];

export const RECORDS: readonly SampleSession[] = [
  session({ ...STRANGER, sessionId: 'chat' }, { append: numbered(2), head: { position: 2 } }),
  session({ ...ALICE, sessionId: 's-1' }, { head: { position: 0 } }, { head: { position: 1 } }),
];

/** A session of Alice that has expired. */
export const EXPIRED = SessionKey.of({ ...ALICE, sessionId: 'expired' });

/** Commits all of the sample, with a lease for each session where the store has leases. */
export async function writeSample(store: SessionStore, expiring: SessionStore | undefined): Promise<void> {
  for (const [target, sessions] of [
    [store, SESSIONS],
    [store.collection?.(COLLECTION), RECORDS],
  ] as const) {
    for (const { key, changes } of target === undefined ? [] : sessions) {
      const lease = target && (await takeLease(target, key));
      for (const index of changes.keys()) {
        await target?.commit(key, { ...changeAt(changes, index), fence: lease?.fence });
      }
      await lease?.release();
    }
  }
  await expiring?.commit(EXPIRED, changeAt([{ append: numbered(1) }], 0));
}

/** What a store has to load of these sessions. */
export function statesOf(sessions: readonly SampleSession[]): readonly SampleState[] {
  return sessions.map(({ key, changes }) => {
    const last = changeAt(changes, changes.length - 1);
    const messages = changes.reduce<readonly Message[]>(
      (kept, { keep = 0, append = [] }) => [...kept.slice(0, keep), ...append],
      [],
    );
    return { key, version: changes.length, head: last.head, messages, token: last.operation, last };
  });
}

function changeAt(changes: readonly Change[], index: number): SampleState['last'] {
  const { keep = 0, append = [], head = {} } = changes[index] ?? {};
  const expected = index === 0 ? undefined : operationAt(index - 1);
  return { operation: operationAt(index), expected, head, keep, append };
}

function operationAt(index: number): string {
  // Of an earlier commit, stores remember how its name begins.
  return `${String(index).padStart(2, '0')}-stored-commit`;
}
