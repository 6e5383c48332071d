import { sessionStoreSuite } from '../../src/suites.js';
import { workspaceStored } from './workspace-stored.js';

sessionStoreSuite(workspaceStored);
