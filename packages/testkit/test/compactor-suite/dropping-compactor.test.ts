import { compactorSuite } from '../../src/index.js';
import { DroppingCompactor } from './dropping-compactor.js';

compactorSuite({ name: 'DroppingCompactor', conversations: 6, create: () => new DroppingCompactor() });
