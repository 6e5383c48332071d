import { mkdir, realpath, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openInside } from '../../src/workspace/confined-path.js';
import { temporaryDirectory } from '../temporary-directory.js';

async function twoDirectories(): Promise<{ readonly root: string; readonly outside: string }> {
  const base = await realpath(await temporaryDirectory());
  const [root, outside] = [join(base, 'root'), join(base, 'root-beside')];
  await mkdir(join(root, 'inner'), { recursive: true });
  await mkdir(outside);
  return { root, outside };
}

test('links inside are followed, missing parts are named', async () => {
  const { root } = await twoDirectories();
  await symlink(join(root, 'inner'), join(root, 'link'));
  const { place, missing } = await openInside(root, 'link/new.txt', ['link', 'new.txt']);
  place.close();
  expect([place.real, missing]).toEqual([join(root, 'inner'), ['new.txt']]);
});

test.each(['root-beside', 'nowhere'])('a link to %s is refused', async (target) => {
  const { root, outside } = await twoDirectories();
  await symlink(join(outside, '..', target), join(root, 'link'));
  for (const path of ['link', 'link/a.txt']) {
    await expect(openInside(root, path, path.split('/'))).rejects.toMatchObject({
      code: 'outside_workspace',
    });
  }
});
