import { InMemorySession } from '@x/core';
import { sessionStoreSuite } from '../../src/suites.js';

sessionStoreSuite({ name: 'InMemorySession', create: () => new InMemorySession() });
