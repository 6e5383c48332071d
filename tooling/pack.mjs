// Builds every published package and writes its archive into a folder: `npm run pack -- DIR`.
// Progress goes to stderr. Stdout carries the archives' paths alone, one a line, for `npm install $(…)`.
import { resolve } from 'node:path';
import { buildAndPack } from './walk/pack.mjs';
import { seconds } from './workspace.mjs';

const started = performance.now();
const destination = resolve(process.argv[2] ?? 'archives');
const progress = (line) => console.error(`[pack] ${line}`);

for (const { tarball } of await buildAndPack(destination, progress)) console.log(tarball);
progress(`Done in ${seconds(performance.now() - started)}: ${destination}`);
