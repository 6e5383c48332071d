import { expect, it } from 'vitest';
import { withTemporaryFolder } from '../../../tooling/temporary-folder.js';
import { holdConversation, VARIANTS } from '../src/harness.js';

it.each(Object.entries(VARIANTS))('%s holds the whole conversation', async (_, variant) => {
  await withTemporaryFolder(async (folder) => {
    expect(await holdConversation(variant, folder, 5)).toHaveLength(6);
  });
});
