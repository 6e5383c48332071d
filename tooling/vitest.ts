import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import type { ViteUserConfig } from 'vitest/config';
// Declares the keys of `inject` for the tests of every package.
import type {} from './services/provide.js';
import { keepTemporaryFilesInMemory } from './temporary-files.js';

keepTemporaryFilesInMemory();

const conditions = ['@x/source'];

/** Vitest configuration of every package. Tests use the sources of other packages, so they need no build. */
export const unit = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: [fileURLToPath(new URL('property-tests.ts', import.meta.url))],
    // Stops only tests that hang, so that a machine ten times slower than a laptop passes. Speed is measured in apps/bench.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 120_000 } },
  },
} satisfies ViteUserConfig;

/**
 * Returns the configuration with one copy of the modules for all test files of a worker, because loading them for each file takes as long
 * as the tests. For packages whose tests undo their changes of globals and prototypes.
 */
export function together(config: ViteUserConfig): ViteUserConfig {
  return { ...config, test: { ...config.test, isolate: false } };
}

/**
 * If `X_PEERS` is set, resolves packages with these names from that folder, not from the installed ones. This tests other versions of a
 * framework, see `tooling/peers.mjs`.
 */
export function withPeers(names: RegExp, config: ViteUserConfig): ViteUserConfig {
  const folder = process.env.X_PEERS;
  if (folder === undefined) return config;
  const plugin: Plugin = {
    name: 'other-peers',
    enforce: 'pre',
    resolveId(source) {
      // The importer must be an existing file.
      return names.test(source) ? this.resolve(source, `${folder}/package.json`, { skipSelf: true }) : null;
    },
  };
  return { ...config, plugins: [plugin] };
}

type ServiceName = 'redis' | 'redis-cluster' | 'mariadb' | 'postgres' | 'chromium' | 'bubblewrap';

/** Returns the configuration with services, whose addresses tests get with `inject`, by the keys of `ProvidedContext`. */
export function unitWith(...services: ServiceName[]): ViteUserConfig {
  const globalSetup = services.map((name) =>
    fileURLToPath(new URL(`./services/${name}.ts`, import.meta.url)),
  );
  return { ...unit, test: { ...unit.test, globalSetup } };
}
