import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RuntimeContext } from '@x/core';
import { HarnessAgent } from '@x/harness';
import { ScriptedModel } from '@x/testkit';
import { it } from 'vitest';
import { durableMariadb } from '../../../tooling/services/mariadb.js';
import { durablePostgres } from '../../../tooling/services/postgres.js';
import { durableRedis } from '../../../tooling/services/redis.js';
import { ownServers, resolve } from '../../../tooling/services/resolve.js';
import { openTestedStore } from './support/tested-store.js';

const context = RuntimeContext.of({ sessionId: 's' });

it.concurrent.for([
  ['redis', durableRedis],
  ['mysql', durableMariadb],
  ['postgres', durablePostgres],
] as const)(
  'a server that stands still in the middle of a call ends the call after outageMs, and the call that is repeated is one turn: %s',
  async ([kind, service], { expect, onTestFinished }) => {
    const server = await resolve(service, ownServers);
    onTestFinished(server.stop);
    const workspace = mkdtempSync(join(tmpdir(), 'x-stopped-'));
    onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
    const { store, close } = await openTestedStore({ kind, address: server.address });
    onTestFinished(close);
    let goOn = () => {};
    onTestFinished(() => goOn());
    const stopping = new ScriptedModel([
      () => {
        goOn = server.pause?.() ?? goOn;
        return { text: 'Done.' };
      },
    ]);
    const builder = (model: ScriptedModel) =>
      HarnessAgent.builder()
        .model(model)
        .workspace(workspace)
        .session(store)
        .limits({ storeMs: 3_000, outageMs: 500 });
    const agent = builder(stopping).build();
    await expect(agent.call('Pay the bill', context, { id: 'pay-1' })).rejects.toMatchObject({
      code: 'session_unavailable',
      outcome: 'unknown',
    });
    await agent.close();
    goOn();
    const waiting = new ScriptedModel([
      () => {
        goOn = server.pause?.() ?? goOn;
        return { text: 'Waited.' };
      },
    ]);
    const patient = builder(waiting)
      .limits({ outageMs: 300_000 })
      // A second attempt has begun by then.
      .settings({ processTtlMs: 1_000 })
      .onEvent(({ type }) => type === 'turn.uncertain' && goOn())
      .build();
    expect(await patient.call('Wait', RuntimeContext.of({ sessionId: 'other' }))).toMatchObject({
      text: 'Waited.',
      stopReason: 'completed',
    });
    await patient.close();
    const again = builder(new ScriptedModel([{ when: /Pay/, reply: { text: 'Done.' }, times: Infinity }]))
      .limits({ storeMs: 30_000 })
      .build();
    const reply = await again.call('Pay the bill', context, { id: 'pay-1' });
    expect(reply.text).toBe('Done.');
    expect((await again.state(context))?.context.map(({ role }) => role)).toEqual(['user', 'assistant']);
    await again.close();
  },
);
