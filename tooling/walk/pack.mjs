// Packs the workspace's packages as they would be published.
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inTurns } from '../checks/run-module.ts';
import { root, run, runTool } from '../workspace.mjs';

/** The folders of what is published. */
export const published = [
  ...(await readdir(join(root, 'packages'))).map((name) => `packages/${name}`),
  'apps/cli',
];

/**
 * Builds and packs all that is published; see {@link packAll}.
 *
 * @throws with what the build said
 */
export async function buildAndPack(destination) {
  const filters = published.map((folder) => `--filter=./${folder}`);
  const built = await runTool('turbo', ['run', 'build', ...filters, '--output-logs=errors-only']);
  if (!built.passed) throw new Error(built.output);
  await mkdir(destination, { recursive: true });
  return packAll(published, destination);
}

/**
 * @returns for each folder the tarball, and the manifest that lies in it, with versions in place of `workspace:`
 */
export function packAll(folders, destination) {
  return inTurns(folders, 3, (folder) => pack(folder, destination));
}

async function pack(folder, destination) {
  const pnpm = join(root, 'node_modules/.bin/pnpm');
  const { code, output } = await run(pnpm, ['pack', '--json', '--pack-destination', destination], {
    cwd: join(root, folder),
  });
  if (code !== 0) throw new Error(`${folder} cannot be packed:\n${output}`);
  const { name } = JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8'));
  const prefix = `${name.replace('@', '').replace('/', '-')}-`;
  const file = (await readdir(destination)).find((each) => each.startsWith(prefix) && each.endsWith('.tgz'));
  if (file === undefined) throw new Error(`${folder} was packed, but there is no ${prefix}*.tgz:\n${output}`);
  const tarball = join(destination, file);
  const { output: text } = await run('tar', ['-xzOf', tarball, 'package/package.json'], { cwd: root });
  return { folder, manifest: JSON.parse(text), tarball };
}
