// Packs the workspace's packages as they would be published.
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inTurns } from '../checks/run-module.ts';
import { root, run, runTool } from '../workspace.mjs';

/** The folders of what is published. */
export const published = [
  ...(await readdir(join(root, 'packages'))).map((name) => `packages/${name}`),
  'apps/cli',
];

/**
 * What pnpm needs in its environment to pack or publish: the hook that fills in the repository. The file is not called
 * `.pnpmfile.cjs`, because every install would then compare its checksum with the lockfile.
 */
export const packing = { npm_config_pnpmfile: join(root, 'tooling/pnpmfile.cjs') };

/**
 * Builds and packs every published package; see {@link packAll}.
 *
 * @param progress is called with a line for a person when a step begins or ends
 * @throws with the output of the build if it fails
 */
export async function buildAndPack(destination, progress = () => {}) {
  const filters = published.map((folder) => `--filter=./${folder}`);
  progress(`Building ${published.length} packages (about a minute when nothing is cached) …`);
  // Turbo restores its cache into `dist` without removing the files of other builds.
  for (const folder of published) await rm(join(root, folder, 'dist'), { recursive: true, force: true });
  const built = await runTool('turbo', ['run', 'build', ...filters, '--output-logs=errors-only']);
  if (!built.passed) throw new Error(built.output);
  await mkdir(destination, { recursive: true });
  let done = 0;
  return packAll(published, destination, ({ manifest }) => {
    done += 1;
    progress(`${done}/${published.length} ${manifest.name} ${manifest.version}`);
  });
}

/**
 * Packs folders into a destination that exists.
 *
 * @param packed is called with each result as soon as it is there
 * @returns for each folder its tarball, and the manifest in the tarball: with versions instead of `workspace:`
 */
export function packAll(folders, destination, packed = () => {}) {
  return inTurns(folders, 3, async (folder) => {
    const result = await pack(folder, destination);
    packed(result);
    return result;
  });
}

async function pack(folder, destination) {
  const pnpm = join(root, 'node_modules/.bin/pnpm');
  const { code, output } = await run(pnpm, ['pack', '--json', '--pack-destination', destination], {
    cwd: join(root, folder),
    env: { ...process.env, ...packing },
  });
  if (code !== 0) throw new Error(`${folder} cannot be packed:\n${output}`);
  const { name, version } = JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8'));
  const tarball = join(destination, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
  const { output: text } = await run('tar', ['-xzOf', tarball, 'package/package.json'], { cwd: root });
  return { folder, manifest: JSON.parse(text), tarball };
}
