import { expect, it } from 'vitest';
import { CONTENDERS, contenderNamed, NODE22_CONTENDERS } from '../src/harness-contenders.js';
import { Conversation } from '../src/harness-conversation.js';

it.each(CONTENDERS)('%s: %s holds the whole conversation', async (library, name) => {
  const conversation = new Conversation(5, 600_000);
  const answer = await (await contenderNamed(library, name))(conversation, '');
  expect(conversation.askedAt).toHaveLength(6);
  expect(conversation.differences(answer)).toEqual([]);
});

it('knows every contender that is measured on Node 22', async () => {
  for (const [library, name] of NODE22_CONTENDERS)
    expect(await contenderNamed(library, name)).toBeTypeOf('function');
});

it('refuses a contender that there is not', async () => {
  await expect(contenderNamed('ours', 'nobody')).rejects.toThrow('There is no contender ours nobody.');
});
