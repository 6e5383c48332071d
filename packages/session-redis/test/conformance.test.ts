import { randomUUID } from 'node:crypto';
import { sessionStoreSuite } from '@x/testkit';
import { RedisSession } from '../src/index.js';
import { testClient } from './support/test-store.js';

let keyPrefix: string;
const open = () => new RedisSession({ client: testClient(), keyPrefix });

sessionStoreSuite({
  name: 'RedisSession',
  create: () => {
    keyPrefix = `test:${randomUUID()}:`;
    return open();
  },
  reopen: open,
});
