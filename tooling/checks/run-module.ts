import { type ExecFileException, execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build, type Options } from 'tsup';
import { withTemporaryFolder } from '../temporary-folder.js';

// Only against what hangs: a busy machine takes ten times as long as an idle one.
const secondsAllowed = 180;

/** What a module printed, and how it failed unless it exited 0 in time. */
interface Outcome {
  readonly stdout: string;
  readonly failure?: string;
}

/**
 * Runs TypeScript modules, each with nothing but Node: an empty working directory, no API keys and no settings in the
 * environment. Our packages' sources are compiled once for all of them; libraries stay where they are installed.
 *
 * @param directory where the compiled modules go for as long as they run
 */
export async function runModules(
  paths: readonly string[],
  directory: string,
): Promise<readonly (Outcome & { readonly path: string })[]> {
  if (paths.length === 0) return [];
  return withTemporaryFolder(async (outDir) => {
    await build({
      config: false,
      silent: true,
      entry: Object.fromEntries(paths.map((path, index) => [String(index), path])),
      outDir,
      format: 'esm',
      outExtension: () => ({ js: '.mjs' }),
      target: 'node20',
      platform: 'node',
      splitting: true,
      noExternal: [/./],
      esbuildOptions: (options) => {
        // Libraries by the paths that Node would find.
        options.conditions = ['@x/source'];
        options.mainFields = ['main'];
      },
      esbuildPlugins: [librariesByPath],
    });
    return await inTurns(paths, availableParallelism(), async (path, index) => ({
      path,
      ...(await withTemporaryFolder((empty) => run(join(outDir, `${index}.mjs`), empty))),
    }));
  }, directory);
}

/** Leaves libraries out of a bundle, by their paths: what a package of ours imports is not to be found from elsewhere. */
const librariesByPath: NonNullable<Options['esbuildPlugins']>[number] = {
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
      // One that is not installed stays a name: who imports it has to cope, as it has to at a user's.
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

/** Maps with at most `width` items at work at a time. */
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
