import { WorkspaceSession } from '@x/core/node';
import { checkPausedHolder, checkTurns, runWriters } from '@x/test-support';
import { type ChaoticServer, chaosLoad, chaoticServer, writerOf } from '@x/test-support/servers';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { durableRedis } from '../../../../tooling/services/redis.js';
import { RedisSession, RedisWorkspace } from '../../src/index.js';

const TIMEOUT = 600_000;
const program = new URL('../children/write-turns.ts', import.meta.url);

let server: ChaoticServer;
let client: Redis;
beforeAll(async () => {
  server = await chaoticServer(durableRedis);
  client = new Redis(server.address);
}, TIMEOUT);
afterAll(async () => {
  client?.disconnect();
  await server?.stop();
});
const writer = (kind: string) => writerOf(program, kind, server.proxied);

it.each(['single', 'files'])(
  'a server and writers that are killed, and packets that are lost or late, lose and double no turn (%s)',
  { timeout: TIMEOUT },
  async (kind) => {
    server.disturb(true);
    const history = await runWriters({
      ...chaosLoad,
      seed: 1,
      start: writer(kind),
      disruptions: [server.crash, server.crash],
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
  server.disturb(false);
  await checkPausedHolder(new RedisSession({ client }), writer('single'));
  expect(client.status).toBe('ready');
});
