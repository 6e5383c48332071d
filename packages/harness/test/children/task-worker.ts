// Gives a task to a worker of its own process, and says when the worker has taken a step and is in the next.
import { join } from 'node:path';
import { RuntimeContext } from '@x/core';
import { JsonSession } from '@x/core/node';
import { ScriptedModel } from '@x/testkit';
import { bullmqTaskRunner } from '../../src/bullmq/index.js';
import { HarnessAgent, subagents } from '../../src/index.js';

const [root = '', redisUrl = '', queueName = ''] = process.argv.slice(2);
const { hostname: host, port } = new URL(redisUrl);
const child = new ScriptedModel([
  { toolCalls: [{ name: 'wait_async_results', input: { timeoutMs: 0 } }] },
  () => {
    console.log('working');
    return new Promise(() => {});
  },
]);
const agent = HarnessAgent.builder()
  .name('lead')
  .model(
    new ScriptedModel([
      { toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: 'Work', background: true } }] },
      { text: 'begun' },
    ]),
  )
  .workspace(root)
  .session(new JsonSession({ directory: join(root, 'json') }))
  .use(
    subagents([{ name: 'worker', description: 'Works', model: child }], {
      settings: { checkpoint: 'step' },
      runner: bullmqTaskRunner({ connection: { host, port: Number(port) }, queueName, stalledMs: 1_000 }),
    }),
  )
  .build();
await agent.call('go', RuntimeContext.of({ userId: 'alice', sessionId: 's-1' }));
