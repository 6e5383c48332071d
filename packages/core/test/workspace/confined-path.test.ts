import { mkdir, realpath, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resolveInside, targetInside } from '../../src/workspace/confined-path.js';
import { temporaryDirectory } from '../temporary-directory.js';

async function twoDirectories(): Promise<{ readonly root: string; readonly outside: string }> {
  const base = await realpath(await temporaryDirectory());
  const [root, outside] = [join(base, 'root'), join(base, 'root-beside')];
  await mkdir(join(root, 'inner'), { recursive: true });
  await mkdir(outside);
  return { root, outside };
}

test('links inside are followed, missing parts are appended', async () => {
  const { root } = await twoDirectories();
  await symlink(join(root, 'inner'), join(root, 'link'));
  expect(await resolveInside(root, 'link/new.txt', ['link', 'new.txt'])).toBe(join(root, 'inner', 'new.txt'));
  expect(await targetInside(root, join(root, 'link'))).toBe(await realpath(join(root, 'link')));
});

test.each(['root-beside', 'nowhere'])('a link to %s is refused', async (target) => {
  const { root, outside } = await twoDirectories();
  await symlink(join(outside, '..', target), join(root, 'link'));
  await expect(resolveInside(root, 'link/a.txt', ['link', 'a.txt'])).rejects.toMatchObject({
    code: 'outside_workspace',
  });
  expect(await targetInside(root, join(root, 'link'))).toBeUndefined();
});
