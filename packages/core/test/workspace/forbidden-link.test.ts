import { symlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LocalWorkspace } from '../../src/node.js';
import { temporaryDirectory } from '../temporary-directory.js';

test('a link that this process may not follow hides nothing else from a listing', async () => {
  const root = await temporaryDirectory();
  const workspace = new LocalWorkspace(root);
  await workspace.write('a/file', 'x');
  // Another process, which the system lets nobody look into.
  symlinkSync('/proc/1/cwd', `${root}/a/link`);
  const paths: string[] = [];
  for await (const { path } of workspace.list('', { recursive: true })) paths.push(path);
  expect(paths).toEqual(['a', 'a/file']);
});
