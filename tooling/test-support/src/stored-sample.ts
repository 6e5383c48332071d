import { type JsonObject, type Message, SessionKey, type SessionKeyParts, type SessionStore } from '@x/core';
import {
  everyHead,
  everyMessage,
  numbered,
} from '../../../packages/testkit/src/store-suite/sample-messages.js';
import { takeLease } from '../../../packages/testkit/src/take-lease.js';

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

/** The state of a session or record in the sample that a store must load. */
export interface SampleState {
  readonly key: SessionKey;
  readonly version: number;
  readonly head: JsonObject;
  readonly messages: readonly Message[];
  readonly token: string;
  /** The last commit, which must not be applied twice. */
  readonly last: Parameters<SessionStore['commit']>[1];
}

/** A user whose ids contain non-Latin letters, and special characters of paths, SQL and patterns. */
export const STRANGER = { tenantId: 'Größe & Co/KG', userId: 'ünï 漢🦀 %_' } as const;
export const ALICE = { userId: 'alice' } as const;
/** Exceeds the maximum length of file names, database indexes and path segments. */
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

/** Never change these sessions, because fixtures of earlier formats contain them. Add others instead. */
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

/** Commits the whole sample. If the store has leases, takes one for each session. */
export async function writeSample(store: SessionStore): Promise<void> {
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
}

/** Returns the expected states of these sessions. */
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
  // Stores remember only the beginning of an earlier commit's name.
  return `${String(index).padStart(2, '0')}-stored-commit`;
}
