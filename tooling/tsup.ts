import type { Options } from 'tsup';

/** How every published package is built: one ESM file, its types and a source map. */
export const library: Options = {
  entry: ['src/index.ts'],
  format: ['esm'],
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
  sourcemap: true,
  clean: true,
  target: 'node20',
};
