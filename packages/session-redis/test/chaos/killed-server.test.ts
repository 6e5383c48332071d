import { WorkspaceSession } from '@x/core/node';
import { checkPausedHolder, checkTurns, runWriters, type SeverableProxy, severableProxy } from '@x/testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chaosLoad, DISTURBED, writerOf } from '../../../../tooling/chaos.js';
import { durableRedis } from '../../../../tooling/services/redis.js';
import { resolve } from '../../../../tooling/services/resolve.js';
import type { Running } from '../../../../tooling/services/service.js';
import { ownServers } from '../../../../tooling/services/strategies.js';
import { RedisSession, RedisWorkspace } from '../../src/index.js';

const TIMEOUT = 600_000;
const program = new URL('../children/write-turns.ts', import.meta.url);

let server: Running;
let proxy: SeverableProxy;
let client: Redis;
beforeAll(async () => {
  server = await resolve(durableRedis, ownServers);
  const { hostname, port } = new URL(server.address);
  proxy = await severableProxy(hostname, Number(port));
  client = new Redis(server.address);
}, TIMEOUT);
afterAll(async () => {
  client?.disconnect();
  await proxy?.close();
  await server?.stop();
});
const writer = (kind: string) => writerOf(program, kind, `redis://127.0.0.1:${proxy.port}`);

it.each(['single', 'files'])(
  'a server and writers that are killed, and packets that are lost or late, lose and double no turn (%s)',
  { timeout: TIMEOUT },
  async (kind) => {
    const crash = async () => server.crash?.();
    proxy.disturb(DISTURBED);
    const history = await runWriters({
      ...chaosLoad,
      seed: 1,
      start: writer(kind),
      disruptions: [crash, crash],
    });
    const isFiles = kind === 'files';
    const store = isFiles
      ? new WorkspaceSession(new RedisWorkspace({ client }))
      : new RedisSession({ client });
    await checkTurns(store, chaosLoad, history);
  },
);

it('a holder that is stopped for longer than its lease commits nothing when it goes on', {
  timeout: TIMEOUT,
}, async () => {
  proxy.disturb(Number.POSITIVE_INFINITY);
  await checkPausedHolder(new RedisSession({ client }), writer('single'));
  expect(client.status).toBe('ready');
});
