// Runs every check except the tests: `npm run check`. `npm run check -- types packages` runs only these two.
// With `--print`, prints the output of passed checks too, such as code lines and sizes of bundles.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, runTool, seconds } from './workspace.mjs';

const colors = process.stdout.isTTY ? 'force' : 'off';

// After the first run, checks only the types of changed files.
const incremental = (name) => [
  '--incremental',
  '--tsBuildInfoFile',
  join(root, 'node_modules/.cache/tsc', `${name.replaceAll('/', '-')}.tsbuildinfo`),
];

// A web page has a separate configuration, because it needs the types of the DOM.
const pages = readdirSync(join(root, 'apps'))
  .map((app) => `apps/${app}/web`)
  .filter((page) => existsSync(join(root, page, 'tsconfig.json')));

const script = (name, what, file, ...more) => ({
  name,
  what,
  command: ['node', '--conditions=@x/source', '--import', 'tsx', `tooling/${file}`, ...more],
});

/** The cheapest first; two run at a time. */
const steps = [
  script('structure', 'manifests, dependencies, long functions, links, code lines', 'checks/structure.ts'),
  {
    name: 'style',
    what: 'format, lint, imports',
    command: ['biome', 'ci', '--error-on-warnings', `--colors=${colors}`, '.'],
  },
  { name: 'types', what: 'sources, tests, tooling', command: ['tsc', '-p', '.', ...incremental('root')] },
  ...pages.map((page) => ({
    name: 'page',
    what: `types of ${page}`,
    command: ['tsc', '--noEmit', '-p', page, ...incremental(page)],
  })),
  { name: 'unused', what: 'files, exports, dependencies', command: ['knip'] },
  script('examples', 'code in the documentation', 'checks/examples.ts'),
  script('bundle', 'what runs without Node, and its size', 'checks/bundle.ts'),
  script('reference', 'keys of configuration files', 'reference.ts', '--check'),
  {
    name: 'packages',
    what: 'build, publint',
    command: ['turbo', 'run', 'build', 'check:package', '--continue', '--output-logs=errors-only'],
  },
];

const asked = process.argv.slice(2).filter((argument) => argument !== '--print');
const printsAll = process.argv.includes('--print');
const unknown = asked.filter((name) => !steps.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(
    `No check is called ${unknown.join(', ')}. There are: ${steps.map(({ name }) => name).join(', ')}.`,
  );
  process.exit(1);
}

const chosen = steps.filter(({ name }) => asked.length === 0 || asked.includes(name));
const waiting = [...chosen];
const failed = [];
console.log(
  `[check] ${chosen.length} checks, two at a time; building is the long one (a minute when nothing is cached).`,
);
await Promise.all([lane(), lane()]);

if (failed.length > 0) {
  console.error(`[check] Failed: ${failed.join(', ')}.`);
  process.exit(1);
}

async function lane() {
  for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
    const started = performance.now();
    const [command, ...args] = step.command;
    const { passed, output } = await runTool(command, args);
    const time = seconds(performance.now() - started);
    console.log(
      `[check] ${passed ? 'ok    ' : 'FAILED'} ${step.name.padEnd(12)} ${time.padStart(7)}  ${step.what}`,
    );
    if (!passed) failed.push(step.name);
    if (!passed || printsAll) console.log(output.trimEnd());
  }
}
