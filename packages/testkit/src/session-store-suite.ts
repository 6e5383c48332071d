import { describe } from 'vitest';
import { collections } from './store-suite/collections.js';
import { compareAndSet } from './store-suite/compare-and-set.js';
import { roundTrip, volume } from './store-suite/contents.js';
import { damage } from './store-suite/damage.js';
import { expiry } from './store-suite/expiry.js';
import { faults } from './store-suite/faults.js';
import { formats } from './store-suite/formats.js';
import { instances, isolation } from './store-suite/isolation.js';
import { keys } from './store-suite/keys.js';
import { leases } from './store-suite/leases.js';
import { listAndDelete } from './store-suite/list-and-delete.js';
import { randomChanges } from './store-suite/random-changes.js';
import { type SessionStoreSuiteOptions, StoreSuite } from './store-suite/store-suite.js';

const ASPECTS = [
  roundTrip,
  compareAndSet,
  listAndDelete,
  keys,
  isolation,
  instances,
  volume,
  randomChanges,
  collections,
  leases,
  expiry,
  formats,
  damage,
  faults,
];

/**
 * Registers the tests that every `SessionStore` must pass, with Vitest. Call it at the top level of a test file.
 *
 * ```ts
 * sessionStoreSuite({ name: 'RedisSession', create: () => new RedisSession({ client, keyPrefix: nextPrefix() }) });
 * ```
 */
export function sessionStoreSuite(options: SessionStoreSuiteOptions): void {
  describe(`SessionStore: ${options.name}`, () => {
    const suite = new StoreSuite(options);
    for (const aspect of ASPECTS) aspect(suite);
    suite.testOptOuts();
  });
}
