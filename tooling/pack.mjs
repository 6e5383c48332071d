// Builds every published package, writes its archive into a folder, and inspects it: `npm run pack -- DIR`.
// Writes progress to stderr, and to stdout only the paths of the archives, one per line, for `npm install $(…)`.
import { resolve } from 'node:path';
import { inspectArchive } from './archives.ts';
import { report } from './checks/problem.ts';
import { buildAndPack } from './walk/pack.mjs';
import { seconds } from './workspace.mjs';

const started = performance.now();
const destination = resolve(process.argv[2] ?? 'archives');
const progress = (line) => console.error(`[pack] ${line}`);

const packed = await buildAndPack(destination, progress);
for (const { tarball } of packed) console.log(tarball);
report(packed.flatMap((archive) => inspectArchive(archive)));
progress(`Done in ${seconds(performance.now() - started)}: ${destination}`);
