// Builds all packages and writes their archives into a folder: `npm run pack -- DIR`, then `npm install DIR/*.tgz` elsewhere.
import { resolve } from 'node:path';
import { buildAndPack } from './walk/pack.mjs';

for (const { tarball } of await buildAndPack(resolve(process.argv[2] ?? 'archives'))) console.log(tarball);
