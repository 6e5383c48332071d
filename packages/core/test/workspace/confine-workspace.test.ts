import { expect, test } from 'vitest';
import { LocalWorkspace } from '../../src/node.js';
import { confineWorkspace } from '../../src/workspace/confine-workspace.js';
import { subtreeOf } from '../../src/workspace/workspace-tree.js';
import { temporaryDirectory } from '../temporary-directory.js';
import { thrownBy } from '../thrown-by.js';

/** Like a workspace of an application: it has trees, but leaves rules to `confineWorkspace`. */
class Own extends LocalWorkspace {}

test.each([
  ['of the package', LocalWorkspace],
  ['of an application', Own],
])('a tree of a confined workspace %s denies the same files', async (_, Kind) => {
  const workspace = new Kind(await temporaryDirectory());
  await workspace.write('src/secret', 's');
  await workspace.write('src/open', 'o');
  const confined = confineWorkspace(workspace, (path) =>
    path === 'src/secret' ? 'It is secret.' : undefined,
  );
  const tree = subtreeOf(confined, 'src');
  expect(await thrownBy(tree.read('secret'))).toMatchObject({ code: 'refused' });
  expect(await tree.read('open')).toHaveLength(1);
});
