import { expect, it } from 'vitest';
import { contenderNamed, contenderNames } from '../src/harness-contenders.js';
import { Conversation } from '../src/harness-conversation.js';

it.each(contenderNames)('%s holds the whole conversation', async (name) => {
  const conversation = new Conversation(5, 600_000);
  const answer = await (await contenderNamed(name))(conversation);
  expect(conversation.askedAt).toHaveLength(6);
  expect(conversation.differences(answer)).toEqual([]);
});

it('refuses a contender that there is not', async () => {
  await expect(contenderNamed('nobody')).rejects.toThrow('There is no contender nobody.');
});
