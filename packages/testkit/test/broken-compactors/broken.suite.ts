import { compactorSuite } from '../../src/suites.js';
import { DroppingCompactor } from '../compactor-suite/dropping-compactor.js';
import { brokenCompactors } from './broken-compactors.js';

const conversations = 4;

for (const [name, create] of brokenCompactors) compactorSuite({ conversations, name, create });

compactorSuite({
  conversations,
  name: 'OptsOut',
  create: () => new DroppingCompactor(),
  skip: [{ reason: 'it has no plans', tests: ['plan() changes nothing'] }],
});

compactorSuite({
  conversations,
  name: 'OptsOutOfNothing',
  create: () => new DroppingCompactor(),
  skip: [{ reason: 'none', tests: ['a test that was renamed'] }],
});
