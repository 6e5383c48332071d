import type { Options } from 'tsup';

const common = {
  format: ['esm'],
  sourcemap: true,
  target: 'node20',
} satisfies Options;

/** How every published package is built: one ESM file, its types and a source map. */
export const library: Options = {
  ...common,
  entry: ['src/index.ts'],
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
  clean: true,
};

/** How an app is built: its own code in one file; packages stay where they are installed. */
export const application: Options = {
  ...common,
  entry: ['src/main.ts'],
  platform: 'node',
  skipNodeModulesBundle: true,
  // A web page that is built into the same folder is Vite's to clean.
  clean: ['!web/**'],
};
