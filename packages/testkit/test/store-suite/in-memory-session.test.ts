import { InMemorySession } from '@x/core';
import { sessionStoreSuite } from '../../src/index.js';

sessionStoreSuite({ name: 'InMemorySession', create: () => new InMemorySession() });
