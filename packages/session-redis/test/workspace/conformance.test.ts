import { WorkspaceSession } from '@x/core/node';
import { sessionStoreSuite, workspaceSuite } from '@x/testkit/suites';
import { RedisWorkspace } from '../../src/index.js';
import { nodeRedisClient } from '../support/node-redis.js';
import { testCluster } from '../support/test-cluster.js';
import { testStore } from '../support/test-store.js';

let last: { readonly client: RedisWorkspaceClient; readonly keyPrefix: string };
type RedisWorkspaceClient = ConstructorParameters<typeof RedisWorkspace>[0]['client'];

function create(): RedisWorkspace {
  const { client, keyPrefix } = testStore();
  last = { client, keyPrefix };
  return new RedisWorkspace(last);
}

workspaceSuite({ name: 'RedisWorkspace', create, reopen: () => new RedisWorkspace(last) });

workspaceSuite({
  name: 'RedisWorkspace on a Cluster of three masters',
  create: () => {
    last = testCluster();
    return new RedisWorkspace(last);
  },
  reopen: () => new RedisWorkspace(last),
});

workspaceSuite({
  name: 'RedisWorkspace over node-redis',
  create: async () => {
    const { client, keyPrefix } = await nodeRedisClient();
    return new RedisWorkspace({ client, keyPrefix });
  },
});

sessionStoreSuite({
  name: 'WorkspaceSession on a RedisWorkspace',
  create: () => new WorkspaceSession(create()),
  reopen: () => new WorkspaceSession(new RedisWorkspace(last)),
});
