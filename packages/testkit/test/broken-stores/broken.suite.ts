import { InMemorySession } from '@x/core';
import { sessionStoreSuite } from '../../src/index.js';
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
  skip: [{ reason: 'the backend has no index', tests: ['a list tells version and time'] }],
});

sessionStoreSuite({
  ...small,
  name: 'OptsOutOfNothing',
  create: () => new InMemorySession(),
  skip: [{ reason: 'none', tests: ['a test that was renamed'] }],
});
