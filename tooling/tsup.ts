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

/** Build options of every published package: one ESM file per entry point, type declarations, and source maps. */
export const library: Options = {
  ...common,
  entry: ['src/index.ts'],
  clean: true,
  // The package contains the sources. If the maps contained them too, the package would be a third larger.
  esbuildOptions: (options) => {
    options.sourcesContent = false;
  },
  onSuccess: emitTypes,
};

/** Emits the declarations of the package in the working directory with the compiler. Bundling them would take ten times as long. */
async function emitTypes(): Promise<void> {
  mkdirSync('node_modules/.cache', { recursive: true });
  writeFileSync(
    'node_modules/.cache/tsconfig.types.json',
    JSON.stringify({
      extends: path('../tsconfig.base.json'),
      compilerOptions: {
        // Use the published types of other packages, not their sources.
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
 * Build options of packages for browsers: one ESM file per source file. Bundlers can omit only whole files. With a single file, a user of
 * `createCompactor` would load twice as much code.
 */
export const unbundled: Options = { ...library, entry: ['src/**/*.ts'], bundle: false };

/** Build options of apps: one file with the app's own code, which imports the installed packages. */
export const application: Options = {
  ...common,
  entry: ['src/main.ts'],
  platform: 'node',
  skipNodeModulesBundle: true,
  // Vite cleans the web page that it builds into the same folder.
  clean: ['!web/**'],
};
