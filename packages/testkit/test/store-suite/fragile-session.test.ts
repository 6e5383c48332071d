import { sessionStoreSuite } from '../../src/suites.js';
import { FragileSession } from './fragile-session.js';

// Every option of the suite that a store may use.
sessionStoreSuite({ name: 'FragileSession', ...FragileSession.options(() => new FragileSession()) });
