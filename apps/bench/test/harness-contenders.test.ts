import { expect, it } from 'vitest';
import { contenderNamed, contendersOn } from '../src/harness-contenders.js';
import { Conversation } from '../src/harness-conversation.js';

it.each(contendersOn('here'))('%s holds the whole conversation', async (name) => {
  const conversation = new Conversation(5, 600_000);
  const answer = await (await contenderNamed(name))(conversation, '');
  expect(conversation.askedAt).toHaveLength(6);
  expect(conversation.differences(answer)).toEqual([]);
});

it('knows every contender that is measured on Node 22', async () => {
  for (const name of contendersOn('node22')) expect(await contenderNamed(name)).toBeTypeOf('function');
});

it('refuses a contender that there is not', async () => {
  await expect(contenderNamed('nobody')).rejects.toThrow('There is no contender nobody.');
});
