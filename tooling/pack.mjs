// Builds all packages and writes their archives into a folder: `npm run pack -- DIR`, then `npm install DIR/*.tgz` elsewhere.
import { mkdir, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { packAll } from './walk/pack.mjs';
import { root, runTool } from './workspace.mjs';

const destination = resolve(process.argv[2] ?? 'archives');
const packages = await readdir(join(root, 'packages'));
const members = [...packages.map((name) => `packages/${name}`), 'apps/cli'];
const filters = members.map((member) => `--filter=./${member}`);
const built = await runTool('turbo', ['run', 'build', ...filters, '--output-logs=errors-only']);
if (!built.passed) throw new Error(built.output);
await mkdir(destination, { recursive: true });
for (const { tarball } of await packAll(root, members, destination)) console.log(tarball);
