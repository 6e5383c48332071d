// Builds the demo's page, then becomes the demo, from its sources: `npm start -- --once`.
// Progress goes to stderr, so that stdout carries the demo's own output alone.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, runTool, seconds } from './workspace.mjs';

const main = join(root, 'apps/demo/src/main.ts');
const options = process.argv.slice(2);

/** Builds the page. */
async function build() {
  const started = performance.now();
  console.error('[start] Building the page (some seconds the first time, at once after that) …');
  const { passed, output } = await runTool('turbo', [
    'run',
    'build:web',
    '--filter=@x/demo',
    '--output-logs=errors-only',
  ]);
  if (!passed) {
    console.error(output.trimEnd());
    console.error('[start] The build failed; the lines above say why.');
    process.exit(1);
  }
  console.error(`[start] Built in ${seconds(performance.now() - started)}.`);
}

// The help and one answer in the terminal show no page.
if (!options.some((option) => /^(?:-h|--help|--once)$/.test(option))) await build();

// In this process, so that signals, stdin and the exit code are the demo's without anything in between.
process.argv = [process.execPath, main, ...options];
process.setSourceMapsEnabled(true);
await import(pathToFileURL(main).href);
