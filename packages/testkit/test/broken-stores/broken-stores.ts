import { InMemorySession, SessionKey, type SessionScope, type SessionStore } from '@x/core';
import {
  asCollection,
  conflict,
  type DeleteOptions,
  type SessionChange,
  type SessionLeases,
  type SessionProcesses,
  type StoredSession,
} from '@x/core/store';

/** Who writes last wins. */
class LastWriterWins extends InMemorySession {
  override async commit(key: SessionKey, change: SessionChange): Promise<number> {
    const { token: expected } = (await super.load(key)) ?? {};
    return super.commit(key, { ...change, expected });
  }
}

/** Compares versions, which begin again when a session does. */
class ComparesVersions extends InMemorySession {
  readonly #versions = new Map<string, number>();

  override async commit(key: SessionKey, change: SessionChange): Promise<number> {
    const { token, version = 0 } = (await super.load(key)) ?? {};
    const isSame = this.#versions.get(String(change.expected)) === version;
    const made = await super.commit(key, { ...change, ...(isSame ? { expected: token } : {}) });
    this.#versions.set(change.operation, made);
    return made;
  }
}

/** Knows the last commit alone. */
class ForgetsOperations extends InMemorySession {
  override async commit(key: SessionKey, change: SessionChange): Promise<number> {
    const stored = await super.load(key);
    if (stored?.token === change.operation) return stored.version;
    if (stored?.token !== change.expected) throw conflict(key, change.expected, stored?.version ?? 0);
    return super.commit(key, change);
  }
}

/** Stores whatever it is given. */
class StoresAnything extends InMemorySession {
  readonly #strange = new Map<string, unknown[]>();

  override async load(key: SessionKey): Promise<StoredSession | undefined> {
    const stored = await super.load(key);
    const strange = this.#strange.get(key.toString()) ?? [];
    return stored && { ...stored, messages: [...stored.messages, ...(strange as StoredSession['messages'])] };
  }
  override async commit(key: SessionKey, change: SessionChange): Promise<number> {
    const isStrange = change.append.some((message) => message.role === ('nobody' as string));
    if (!isStrange) return super.commit(key, change);
    this.#strange.set(key.toString(), [...change.append]);
    return super.commit(key, { ...change, append: [] });
  }
}

/** Heeds fences where it cuts, not where it only adds. */
class FencesCutsAlone extends InMemorySession {
  override async commit(key: SessionKey, change: SessionChange): Promise<number> {
    const isAppend = change.keep > 0 && change.keep === (await super.load(key))?.messages.length;
    return super.commit(key, isAppend ? { ...change, fence: undefined } : change);
  }
}

/** Reads, waits and writes: two writers can both find the version that they expect. */
class ChecksTooEarly extends InMemorySession {
  override async commit(key: SessionKey, change: SessionChange): Promise<number> {
    const { token } = (await this.load(key)) ?? {};
    if (change.expected !== token) return super.commit(key, change);
    await Promise.resolve();
    const { token: expected } = (await super.load(key)) ?? {};
    return super.commit(key, { ...change, expected, keep: 0 });
  }
}

/** Takes ids that differ in case alone for the same, as file systems and collations do. */
class FoldsCase extends InMemorySession {
  override load(key: SessionKey): Promise<StoredSession | undefined> {
    return super.load(inLowerCase(key));
  }
  override commit(key: SessionKey, change: SessionChange): Promise<number> {
    return super.commit(inLowerCase(key), change);
  }
  override delete(key: SessionKey): Promise<boolean> {
    return super.delete(inLowerCase(key));
  }
}

function inLowerCase({ parts }: SessionKey): SessionKey {
  return SessionKey.of({ ...parts, sessionId: parts.sessionId.toLowerCase() });
}

/** Shows everybody everything. */
class ListsAll extends InMemorySession {
  override list() {
    return super.list();
  }
}

/** Treats a scope as a pattern. */
class ListsByPattern extends InMemorySession {
  override async *list(scope: SessionScope = {}) {
    const parts = Object.entries(scope) as [keyof SessionScope, string][];
    for await (const info of super.list()) {
      if (parts.every(([part, value]) => matches(info.key.parts[part], value))) yield info;
    }
  }
}

function matches(id: string | undefined, pattern: string): boolean {
  return id === pattern || (pattern.endsWith('%') && (id?.startsWith(pattern.slice(0, -1)) ?? false));
}

/** Hands out what it handed out before, not a copy. */
class SharesObjects extends InMemorySession {
  readonly #loaded = new Map<string, StoredSession>();

  override async load(key: SessionKey): Promise<StoredSession | undefined> {
    const stored = await super.load(key);
    const before = this.#loaded.get(key.toString());
    if (before !== undefined && before.version === stored?.version) return before;
    if (stored !== undefined) this.#loaded.set(key.toString(), stored);
    return stored;
  }
}

/** Keeps what there is when it is told to keep more. */
class KeepsWhatItCan extends InMemorySession {
  override async commit(key: SessionKey, change: SessionChange): Promise<number> {
    const length = (await this.load(key))?.messages.length ?? 0;
    return super.commit(key, { ...change, keep: Math.min(change.keep, length) });
  }
}

/** Writes plain UTF-8, which has no surrogates on their own. */
class LosesSurrogates extends InMemorySession {
  override async load(key: SessionKey): Promise<StoredSession | undefined> {
    const stored = await super.load(key);
    return stored && { ...stored, messages: replaceSurrogates(stored.messages) as StoredSession['messages'] };
  }
}

function replaceSurrogates(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, inner) =>
    typeof inner === 'string' ? Buffer.from(inner).toString() : inner,
  );
}

/** Sorts the fields of objects, as some JSON columns do. */
class SortsFields extends InMemorySession {
  override async load(key: SessionKey): Promise<StoredSession | undefined> {
    const stored = await super.load(key);
    return stored && { ...stored, messages: sortFields(stored.messages) as StoredSession['messages'] };
  }
}

function sortFields(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sortFields);
  return Object.fromEntries(
    Object.entries(value)
      .sort()
      .map(([name, inner]) => [name, sortFields(inner)]),
  );
}

/** Says that it deleted. */
class NeverDeletes extends InMemorySession {
  override async delete(): Promise<boolean> {
    return true;
  }
}

/** Grants a turn to whoever asks. */
class LeasesToAll extends InMemorySession {
  #fence = 0;
  override readonly leases: SessionLeases = {
    ...new InMemorySession().leases,
    take: async () => ++this.#fence,
  };
  override commit(key: SessionKey, change: SessionChange): Promise<number> {
    return super.commit(key, { ...change, fence: undefined });
  }
}

/** Deletes what someone works with. */
class DeletesLeased extends InMemorySession {
  override delete(key: SessionKey, { token }: DeleteOptions = {}): Promise<boolean> {
    return super.delete(key, { token });
  }
}

/** Delivers a note once, whether the process hears of it or not. */
class DeliversOnce extends InMemorySession {
  override readonly leases: SessionLeases = deliveringOnce(new InMemorySession().leases);
}

function deliveringOnce(leases: SessionLeases): SessionLeases {
  const { processes } = leases;
  const beat: SessionProcesses['beat'] = async (process) => {
    const notes = await processes.beat(process, []);
    await processes.beat(process, notes);
    return notes;
  };
  return { ...leases, processes: { ...processes, beat } };
}

/** Lets those write whose turn is over. */
class IgnoresFences extends InMemorySession {
  override commit(key: SessionKey, change: SessionChange): Promise<number> {
    return super.commit(key, { ...change, fence: undefined });
  }
}

/** Keeps the records of collections among the sessions. */
class MixesCollections extends InMemorySession {
  override collection(name: string) {
    return asCollection(this, name);
  }
}

/** Has one collection, by whatever name. */
class IgnoresNames extends InMemorySession {
  override collection(name: string) {
    return super.collection(name && 'chats');
  }
}

/** Does not say which collections there are, so that nobody finds what to erase. */
class HidesCollections extends InMemorySession {
  override async *collections() {}
}

const RANDOM = 'random sequence 1 has the same result as on an array';

/** Stores that are wrong in one way each, and a test of the suite that must find it. */
export const brokenStores: readonly (readonly [name: string, create: () => SessionStore, finding: string])[] =
  [
    ['LastWriterWins', () => new LastWriterWins(), RANDOM],
    ['ChecksTooEarly', () => new ChecksTooEarly(), 'of concurrent writers, exactly one wins each version'],
    [
      'ComparesVersions',
      () => new ComparesVersions(),
      'a commit to a session that was deleted and created again is rejected',
    ],
    ['ForgetsOperations', () => new ForgetsOperations(), RANDOM],
    [
      'StoresAnything',
      () => new StoresAnything(),
      'invalid messages, operations and heads are rejected, and nothing is written',
    ],
    ['FencesCutsAlone', () => new FencesCutsAlone(), RANDOM],
    ['FoldsCase', () => new FoldsCase(), 'ids that attack letters of other cases stay apart'],
    ['ListsAll', () => new ListsAll(), 'a scope lists its own sessions and no others'],
    ['ListsByPattern', () => new ListsByPattern(), 'ids that attack patterns stay apart'],
    [
      'SharesObjects',
      () => new SharesObjects(),
      'mutating a loaded session does not change the stored session',
    ],
    ['KeepsWhatItCan', () => new KeepsWhatItCan(), RANDOM],
    [
      'LosesSurrogates',
      () => new LosesSurrogates(),
      'every block, field and character comes back, byte for byte',
    ],
    ['SortsFields', () => new SortsFields(), 'every block, field and character comes back, byte for byte'],
    ['LeasesToAll', () => new LeasesToAll(), 'of concurrent requests for a lease, one succeeds'],
    ['IgnoresFences', () => new IgnoresFences(), RANDOM],
    ['DeletesLeased', () => new DeletesLeased(), RANDOM],
    ['DeliversOnce', () => new DeliversOnce(), 'notes reach a process until it acknowledges them'],
    ['MixesCollections', () => new MixesCollections(), RANDOM],
    ['IgnoresNames', () => new IgnoresNames(), 'a collection is named as long as it holds something'],
    ['HidesCollections', () => new HidesCollections(), 'a collection is named as long as it holds something'],
    ['NeverDeletes', () => new NeverDeletes(), RANDOM],
  ];
