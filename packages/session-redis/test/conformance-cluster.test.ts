import { sessionStoreSuite } from '@x/testkit/suites';
import { RedisSession } from '../src/index.js';
import { testCluster } from './support/test-cluster.js';

let keyPrefix: string;

sessionStoreSuite({
  name: 'RedisSession on a Cluster of three masters',
  create: () => {
    const { client, keyPrefix: fresh } = testCluster();
    keyPrefix = fresh;
    return new RedisSession({ client, keyPrefix });
  },
  reopen: () => new RedisSession({ client: testCluster().client, keyPrefix }),
});
