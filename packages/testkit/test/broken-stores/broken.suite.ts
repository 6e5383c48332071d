import { InMemorySession, type SessionKey } from '@x/core';
import type { SessionChange } from '@x/core/store';
import { storedSuite } from '../../../../tooling/test-support/src/stored-suite.js';
import { sessionStoreSuite } from '../../src/suites.js';
import { FragileSession } from '../store-suite/fragile-session.js';
import { workspaceStored } from '../store-suite/workspace-stored.js';
import { brokenStores } from './broken-stores.js';

const small = { manyMessages: 20, largePayloadBytes: 1000, timeoutMs: 3000 };

for (const [name, create] of brokenStores) sessionStoreSuite({ ...small, name, create });

// Two instances that do not share their data.
sessionStoreSuite({
  ...small,
  name: 'ForgetsOthers',
  create: () => new InMemorySession(),
  reopen: () => new InMemorySession(),
});

class NeverLists extends InMemorySession {
  override async *list() {}
}

sessionStoreSuite({
  ...small,
  name: 'NeverLists',
  create: () => new NeverLists(),
  skip: [
    { reason: 'the backend has no index', tests: ['list returns title, metadata, times, version and size'] },
  ],
});

sessionStoreSuite({
  ...small,
  name: 'OptsOutOfNothing',
  create: () => new InMemorySession(),
  skip: [{ reason: 'none', tests: ['a test that was renamed'] }],
});

/** Takes what it cannot reach for what is not there. */
class FindsNothing extends FragileSession {
  override load(key: SessionKey) {
    return super.load(key).catch(() => undefined);
  }
}

/** Expires a part of a session at a time. */
class ExpiresInPart extends FragileSession {
  override async load(key: SessionKey) {
    const stored = await super.load(key);
    return this.isExpired(key) && stored ? { ...stored, messages: [] } : stored;
  }
  override async forget() {}
}

/** Has written half of what it adds when its connection breaks. */
class TearsCommits extends FragileSession {
  override async commit(key: SessionKey, change: SessionChange) {
    try {
      return await super.commit(key, change);
    } catch (error) {
      await super.commit(key, { ...change, append: [] }).catch(() => {});
      throw error;
    }
  }
}

for (const [name, Store] of Object.entries({ FindsNothing, ExpiresInPart, TearsCommits })) {
  sessionStoreSuite({ ...small, name, ...FragileSession.options(() => new Store()) });
}

// Releases that changed what they store, and not its format. On files, all tests would take minutes.
const changes: Readonly<Record<string, (written: string) => string>> = {
  RenamesField: (written) => written.replaceAll('\\"createdAt\\":', '\\"madeAt\\":'),
  CutsNames: (written) => written.replaceAll('users/alice/', 'users/ali/'),
};
for (const [name, change] of Object.entries(changes)) {
  storedSuite(name, {
    ...workspaceStored,
    dump: async () => change(await workspaceStored.dump()),
    // Reads where it writes now.
    restore: (dump) => workspaceStored.restore(name === 'CutsNames' ? change(dump) : dump),
  });
}
