import { randomUUID } from 'node:crypto';
import { RuntimeContext } from '@x/core';
import { redisBackend } from '@x/session-redis';
import { Redis } from 'ioredis';
import { expect, inject, it, onTestFinished } from 'vitest';
import { pendingCalls } from '../../../src/index.js';
import { decided } from '../../support.js';
import { type Effects, FOUR, node } from './support.js';

it('goes on with approvals on another machine that shares a Redis', async () => {
  const keyPrefix = `test:${randomUUID()}:`;
  const connect = () => {
    const client = new Redis(inject('redisUrl'));
    onTestFinished(() => client.disconnect());
    return client;
  };
  const effects: Effects = [];
  const context = RuntimeContext.of({ userId: 'alice', sessionId: 's' });
  const machine = (script: Parameters<typeof node>[0]['script']) => {
    const client = connect();
    return { client, ...node({ ...redisBackend({ client, keyPrefix }), effects, script }) };
  };

  const first = machine([FOUR]);
  await first.agent.call('Go', context);
  first.client.disconnect();

  const second = machine([]);
  const state = await second.agent.state(context);
  expect((state ? pendingCalls(state) : []).map(({ id }) => id)).toEqual(['b', 'd']);
  await second.agent.resume(context, {
    decisions: await decided(second.agent, context, { d: { type: 'deny', reason: 'Once is enough.' } }),
  });
  second.client.disconnect();

  const third = machine([{ text: 'Paid.' }]);
  const reply = await third.agent.resume(context, {
    decisions: await decided(third.agent, context, { b: { type: 'approve' } }),
  });
  expect(reply).toMatchObject({ stopReason: 'completed', text: 'Paid.' });
  expect(effects).toEqual(['look 1', 'pay 2', 'note 3']);
});
