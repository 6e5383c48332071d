// Follows the documentation like a newcomer. Packs the packages. For every page, installs the packages that the page names into an
// empty folder, compiles its code, and runs the code marked with `run` and the `x` commands. Then runs the examples.
// `npm run walk` follows all pages, `npm run walk -- memory cli` those whose path contains one of these words.
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inspectArchive } from './archives.ts';
import { minified, PURE } from './checks/pure.ts';
import { inTurns } from './checks/run-module.ts';
import { mariadb } from './services/mariadb.ts';
import { redis } from './services/redis.ts';
import { resolve } from './services/resolve.ts';
import { prepareFixtures, runCommand } from './walk/commands.mjs';
import { serveModel } from './walk/model-server.mjs';
import { buildAndPack, packAll, published } from './walk/pack.mjs';
import { readPage } from './walk/page.mjs';
import { serveRegistry } from './walk/registry.mjs';
import { root, run, seconds } from './workspace.mjs';

const words = process.argv.slice(2);
const started = performance.now();
const folder = await mkdtemp(join(tmpdir(), 'walk-'));
const closers = [() => rm(folder, { recursive: true, force: true, maxRetries: 20 })];
/** Matches warnings. If documented code causes a warning, the code or the warning is wrong. */
const WARNS = /^.*\b(?:Warning|warning):/m;

process.exitCode = await walk().finally(async () => {
  for (const close of closers.reverse()) await close();
});

async function walk() {
  console.log(`[walk] Building and packing ${published.length} packages …`);
  const packed = await buildAndPack(join(folder, 'tarballs'));
  const registry = await serveRegistry(packed);
  closers.push(registry.close);
  const problems = [...(await Promise.all(PURE.map(tooLarge))), packed.flatMap(archiveProblems)];

  const pages = (await Promise.all((await pageFiles()).map(openPage)))
    .filter((page) => page.fences.length + page.commands.length + page.packages.length > 0)
    .filter(({ file }) => words.length === 0 || words.some((word) => file.includes(word)));
  const services = await startServices(pages);
  problems.push(...(await inTurns(pages, 2, (page) => walkPage(page, registry.address, services))));
  if (words.length === 0 || words.includes('examples')) problems.push(await walkExamples(registry.address));

  const failed = problems.flat();
  const time = seconds(performance.now() - started);
  console.log(`[walk] ${pages.length} pages in ${time}; ${failed.length} problems.`);
  return failed.length === 0 ? 0 : 1;
}

function archiveProblems(archive) {
  const problems = inspectArchive(archive).map(({ file, message }) => `${file}: ${message}`);
  for (const problem of problems) console.log(`[walk] FAILED ${problem}`);
  return problems;
}

/** Checks the size of a bundle of the published files. The check `bundle` measures only bundles of the sources. */
async function tooLarge(pure) {
  const size = Math.ceil(Buffer.byteLength(await minified(pure, 'esm', false)) / 1000);
  if (size <= pure.limit) return [];
  const problem = `${pure.folder} bundles as published to ${size} kB, above its limit of ${pure.limit} kB`;
  console.log(`[walk] FAILED ${problem}`);
  return [problem];
}

async function pageFiles() {
  const guides = (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md'));
  return [
    'README.md',
    ...guides.map((name) => `docs/${name}`),
    ...published.map((folder) => `${folder}/README.md`),
  ];
}

async function openPage(file) {
  return readPage(file, await readFile(join(root, file), 'utf8'));
}

/** Starts the servers that the commands of pages need. Without commands, starts none. */
async function startServices(pages) {
  if (pages.every(({ commands }) => commands.length === 0)) return undefined;
  const [cache, database, model] = await Promise.all([resolve(redis), resolve(mariadb), serveModel('Done.')]);
  closers.push(cache.stop, database.stop, model.close);
  return { redis: cache.address, mysql: database.address, model: model.address };
}

/** Follows one page in a new folder. Prints and returns the problems. */
async function walkPage(page, registry, services) {
  const began = performance.now();
  const directory = join(folder, page.file.replaceAll('/', '-').replace(/\.md$/, ''));
  const problems = [];
  const installed = await installPage(page, directory, registry);
  if (installed.code !== 0) problems.push(`npm install ${page.packages.join(' ')}\n${installed.output}`);
  else
    problems.push(...(await walkCode(page, directory)), ...(await walkCommands(page, directory, services)));
  const time = seconds(performance.now() - began);
  console.log(
    `[walk] ${problems.length === 0 ? 'ok    ' : 'FAILED'} ${page.file.padEnd(36)} ${time.padStart(8)}`,
  );
  for (const problem of problems) console.log(indent(problem));
  return problems;
}

async function installPage({ packages, fences, commands }, directory, registry) {
  await mkdir(join(directory, 'code'), { recursive: true });
  await writeFile(join(directory, '.npmrc'), `@x:registry=${registry}/\naudit=false\nfund=false\n`);
  await writeFile(
    join(directory, 'package.json'),
    '{ "name": "newcomer", "private": true, "type": "module" }\n',
  );
  // Also installs the compiler and the types of Node, which every reader has, and the command line, which npx would fetch. The types match
  // the running Node, because Vitest rejects the types of versions that it does not support.
  const types = `@types/node@${process.versions.node.split('.')[0]}`;
  const compiler = fences.length === 0 ? [] : [await ours('typescript'), types];
  const tool = commands.length === 0 ? [] : ['@x/cli'];
  const wanted = [...new Set([...packages, ...tool, ...compiler])];
  if (wanted.length === 0) return { code: 0, output: '' };
  return install(wanted, directory);
}

/**
 * Installs packages without running their scripts, because compiling SQLite for every page would take most of the time. Version 13 contains
 * binaries.
 */
async function install(packages, directory) {
  const options = ['--prefer-offline', '--strict-peer-deps', '--ignore-scripts'];
  const outcome = await run('npm', ['install', ...options, ...packages], { cwd: directory });
  const compiled = 'build/Release/better_sqlite3.node';
  const driver = join(directory, 'node_modules/better-sqlite3');
  if (outcome.code === 0 && existsSync(driver) && !existsSync(join(driver, 'prebuilds'))) {
    await mkdir(dirname(join(driver, compiled)), { recursive: true });
    await copyFile(
      join(root, 'packages/memory/node_modules/better-sqlite3', compiled),
      join(driver, compiled),
    );
  }
  return outcome;
}

/** Returns the name of a package with the version that the repository uses. */
async function ours(name) {
  const { version } = JSON.parse(await readFile(join(root, 'node_modules', name, 'package.json'), 'utf8'));
  return `${name}@${version}`;
}

async function walkCode({ file, fences }, directory) {
  if (fences.length === 0) return [];
  const nameOf = ({ line }) => `line-${line}`;
  for (const fence of fences) await writeFile(join(directory, 'code', `${nameOf(fence)}.ts`), fence.code);
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    moduleDetection: 'force',
    strict: true,
    skipLibCheck: true,
    types: ['node'],
    rootDir: 'code',
    outDir: 'out',
  };
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['code'] }));
  const compiled = await run('npx', ['tsc', '-p', '.'], { cwd: directory });
  if (compiled.code !== 0) return [`tsc: code/line-N.ts is ${file}:N\n${compiled.output}`];
  const problems = [];
  for (const fence of fences.filter((each) => each.run)) {
    const { code, output } = await run('node', [`out/${nameOf(fence)}.js`], {
      cwd: directory,
      env: { PATH: process.env.PATH, HOME: directory },
      seconds: 60,
    });
    if (code !== 0) problems.push(`${file}:${fence.line} exited with ${code}\n${output}`);
    else if (WARNS.test(output)) problems.push(`${file}:${fence.line} warns\n${output}`);
  }
  return problems;
}

async function walkCommands({ file, packages, commands }, directory, services) {
  if (commands.length === 0) return [];
  // npx would install the command line into a folder without the driver.
  if (commands.some((command) => /redis:|mysql:/.test(command)) && !packages.includes('@x/cli')) {
    return [`${file} uses a server in a command, but does not install @x/cli together with the driver`];
  }
  const place = await prepareFixtures(directory, services, await readFile(join(root, file), 'utf8'));
  const problems = [];
  for (const command of commands) {
    const { code, output } = await runCommand(command, place);
    if (code !== 0) problems.push(`${command}\nexited with ${code}\n${output}`);
    else if (WARNS.test(output)) problems.push(`${command}\nwarns\n${output}`);
  }
  return problems;
}

/** Runs the examples with the packed packages. */
async function walkExamples(registry) {
  const [{ tarball }] = await packAll(['examples'], folder);
  await run('tar', ['-xzf', tarball], { cwd: folder });
  const directory = join(folder, 'package');
  await writeFile(join(directory, '.npmrc'), `@x:registry=${registry}/\naudit=false\nfund=false\n`);
  const installed = await install([], directory);
  if (installed.code !== 0) {
    console.log(indent(`examples: npm install\n${installed.output}`));
    return ['examples'];
  }
  const names = (await readdir(directory)).filter((name) => name.endsWith('.ts'));
  const outcomes = await inTurns(names, 2, async (name) => {
    const { code, output } = await run(
      'node',
      ['--import', import.meta.resolve('tsx'), join(directory, name)],
      { cwd: directory, env: { PATH: process.env.PATH, HOME: directory }, seconds: 90 },
    );
    console.log(`[walk] ${code === 0 ? 'ok    ' : 'FAILED'} examples/${name}`);
    if (code !== 0) console.log(indent(output));
    return code === 0 ? [] : [name];
  });
  return outcomes.flat();
}

function indent(text) {
  return text.trimEnd().slice(-4000).replaceAll(/^/gm, '         ');
}
