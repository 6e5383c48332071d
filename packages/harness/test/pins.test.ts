import { compaction } from '@x/compaction';
import { InMemorySession, RuntimeContext, textOf } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { expect, it } from 'vitest';
import { HarnessAgent } from '../src/index.js';
import { scratch } from './support.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's1' });

it('a pin on a session that does not exist yet begins it, and another agent on the store sends it', async () => {
  const session = new InMemorySession();
  const agentOf = (model: ScriptedModel) =>
    HarnessAgent.builder()
      .model(model)
      .session(session)
      .workspace(scratch())
      .use(compaction({ model: null }))
      .build();
  const first = agentOf(new ScriptedModel([]));
  const pin = await first.pin(context, { text: 'No public function changes its name.' });
  expect(await first.unpin(RuntimeContext.of({ userId: 'alice', sessionId: 's2' }), pin.id)).toBe(false);
  expect(await first.state(RuntimeContext.of({ userId: 'alice', sessionId: 's2' }))).toBeUndefined();

  const model = new ScriptedModel([{ text: 'one' }, { text: 'two' }]);
  const second = agentOf(model);
  await second.call('Rename it.', context);
  const sent = () =>
    model.requests
      .at(-1)
      ?.messages.map((message) => textOf(message))
      .join('\n');
  expect(sent()).toContain(pin.text);
  expect(await second.unpin(context, pin.id)).toBe(true);
  await second.call('Really.', context);
  expect(sent()).not.toContain(pin.text);
});
