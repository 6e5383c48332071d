import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Options } from 'tsup';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

const common = {
  format: ['esm'],
  sourcemap: true,
  target: 'node20',
} satisfies Options;

/** How every published package is built: one ESM file an entry, the types of its sources, and maps to both. */
export const library: Options = {
  ...common,
  entry: ['src/index.ts'],
  clean: true,
  // The sources are in the package: maps that repeat them would make it a third larger.
  esbuildOptions: (options) => {
    options.sourcesContent = false;
  },
  onSuccess: emitTypes,
};

/** Emits the declarations of the package one stands in with the compiler itself: bundling them takes ten times as long. */
async function emitTypes(): Promise<void> {
  mkdirSync('node_modules/.cache', { recursive: true });
  writeFileSync(
    'node_modules/.cache/tsconfig.types.json',
    JSON.stringify({
      extends: path('../tsconfig.base.json'),
      compilerOptions: {
        // Of its neighbors a package reads the types that are published.
        customConditions: [],
        noEmit: false,
        emitDeclarationOnly: true,
        declarationMap: true,
        rootDir: '../../src',
        outDir: '../../dist',
      },
      include: ['../../src'],
    }),
  );
  execFileSync(path('../node_modules/.bin/tsc'), ['-p', 'node_modules/.cache/tsconfig.types.json'], {
    stdio: 'inherit',
  });
}

/**
 * How a package is built that browsers load: an ESM file for each of its sources. Bundlers leave out whole files alone that nobody
 * imports, and one for all would bring a user of `createCompactor` twice as much.
 */
export const unbundled: Options = { ...library, entry: ['src/**/*.ts'], bundle: false };

/** How an app is built: its own code in one file; packages stay where they are installed. */
export const application: Options = {
  ...common,
  entry: ['src/main.ts'],
  platform: 'node',
  skipNodeModulesBundle: true,
  // A web page that is built into the same folder is Vite's to clean.
  clean: ['!web/**'],
};
