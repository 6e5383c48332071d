import { compactorSuite } from '../../src/suites.js';
import { DroppingCompactor } from './dropping-compactor.js';

compactorSuite({ name: 'DroppingCompactor', conversations: 6, create: () => new DroppingCompactor() });
