import { type ExecFileException, execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build, type Plugin } from 'esbuild';
import { withTemporaryFolder } from '../temporary-folder.js';

// Stops only modules that hang: a busy machine takes ten times as long as an idle one.
const secondsAllowed = 180;

/** The output of a module, and the failure if it did not exit with 0 in time. */
interface Outcome {
  readonly stdout: string;
  readonly failure?: string;
}

/**
 * Runs TypeScript modules, each in an empty working directory, and without API keys or settings in the environment. Compiles
 * the sources of our packages once for all modules. Loads libraries from where they are installed.
 *
 * @param directory The directory for the compiled modules while they run.
 */
export async function runModules(
  paths: readonly string[],
  directory: string,
): Promise<readonly (Outcome & { readonly path: string })[]> {
  if (paths.length === 0) return [];
  return withTemporaryFolder(async (outDir) => {
    await build({
      entryPoints: Object.fromEntries(paths.map((path, index) => [String(index), path])),
      outdir: outDir,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      format: 'esm',
      target: 'node20',
      platform: 'node',
      sourcemap: true,
      logLevel: 'silent',
      // Resolve libraries to the paths that Node would find.
      conditions: ['@x/source'],
      mainFields: ['main'],
      plugins: [librariesByPath],
    });
    return await inTurns(paths, availableParallelism(), async (path, index) => ({
      path,
      ...(await withTemporaryFolder((empty) => run(join(outDir, `${index}.mjs`), empty))),
    }));
  }, directory);
}

/** Keeps libraries out of a bundle, and imports them by absolute path, because only the importing package can resolve them by name. */
const librariesByPath: Plugin = {
  name: 'libraries-by-path',
  setup(bundle) {
    bundle.onResolve({ filter: /^[^./]/ }, async ({ path, kind, resolveDir, pluginData }) => {
      if (
        kind === 'entry-point' ||
        path.startsWith('@x/') ||
        path.startsWith('node:') ||
        pluginData === 'asked'
      ) {
        return undefined;
      }
      const found = await bundle.resolve(path, { kind, resolveDir, pluginData: 'asked' });
      // Keep the name of a library that is not installed. The importing code must handle this, as it must on a user's machine.
      return { path: found.errors.length > 0 ? path : found.path, external: true };
    });
  },
};

async function run(path: string, directory: string): Promise<Outcome> {
  const running = promisify(execFile)(process.execPath, ['--enable-source-maps', path], {
    cwd: directory,
    env: { PATH: process.env.PATH, HOME: directory },
    timeout: secondsAllowed * 1000,
    killSignal: 'SIGKILL',
    maxBuffer: Number.POSITIVE_INFINITY,
  });
  running.child.stdin?.end();
  try {
    return { stdout: (await running).stdout };
  } catch (error) {
    const { code, killed, stdout = '', stderr = '' } = error as ExecFileException;
    const how = killed ? `did not end within ${secondsAllowed} s` : `exited with ${code}`;
    return { stdout, failure: `${how}\n${(stdout + stderr).slice(-4000).trim()}` };
  }
}

/** Maps items concurrently, at most `width` at a time. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const waiting = [...items.entries()];
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, item] = next;
      results[index] = await work(item, index);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}
