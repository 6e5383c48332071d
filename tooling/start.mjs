// Builds the demo's page, then runs the demo from its sources: `npm start -- --once`. Writes progress to stderr, because stdout is
// for the output of the demo.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, runTool, seconds } from './workspace.mjs';

const main = join(root, 'apps/demo/src/main.ts');
const options = process.argv.slice(2);

/** Builds the page. */
async function build() {
  const started = performance.now();
  console.error('[start] Building the page (some seconds, unless it is cached) …');
  const { passed, output } = await runTool('turbo', [
    'run',
    'build:web',
    '--filter=@x/demo',
    '--output-logs=errors-only',
  ]);
  if (!passed) {
    console.error(output.trimEnd());
    console.error('[start] The build failed: see above.');
    process.exit(1);
  }
  console.error(`[start] Built in ${seconds(performance.now() - started)}.`);
}

// These options do not need the page.
if (!options.some((option) => /^(?:-h|--help|--once)$/.test(option))) await build();

// The demo runs in this process, so that it receives signals and stdin, and sets the exit code.
process.argv = [process.execPath, main, ...options];
process.setSourceMapsEnabled(true);
await import(pathToFileURL(main).href);
