// Packs the packages of the workspace as for publishing.
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inTurns } from '../checks/run-module.ts';
import { root, run, runTool } from '../workspace.mjs';

/** The folders of the published packages. */
export const published = [
  ...(await readdir(join(root, 'packages'))).map((name) => `packages/${name}`),
  'apps/cli',
];

/**
 * The environment in which pnpm packs and publishes: names the hook that adds the repository's address. The file is not called
 * `.pnpmfile.cjs`, because every installation would then compare its checksum with the lockfile.
 */
export const packing = { npm_config_pnpmfile: join(root, 'tooling/pnpmfile.cjs') };

/**
 * Builds and packs every published package; see {@link packAll}.
 *
 * @param progress Called with a text for users when a step begins or ends.
 * @throws If the build fails, with its output.
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
 * Packs folders into an existing folder.
 *
 * @param packed Called with each result.
 * @returns For each folder, the tarball and its manifest, which has versions instead of `workspace:`.
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
