import { storedSuite } from '../../../../tooling/test-support/src/stored-suite.js';
import { sessionStoreSuite } from '../../src/suites.js';
import { workspaceOptions, workspaceStored } from './workspace-stored.js';

sessionStoreSuite(workspaceOptions);
storedSuite('WorkspaceSession', workspaceStored);
