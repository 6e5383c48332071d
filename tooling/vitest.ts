import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import type { ViteUserConfig } from 'vitest/config';
// For the keys of `inject`, which every package's tests then know.
import type {} from './services/provide.js';
import { keepTemporaryFilesInMemory } from './temporary-files.js';

keepTemporaryFilesInMemory();

const conditions = ['@x/source'];

/** How every package is tested: against its neighbors' sources, so that no build comes first. */
export const unit = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: [fileURLToPath(new URL('property-tests.ts', import.meta.url))],
    // Only against tests that hang, so that a machine ten times slower than a laptop passes: how fast something is, is
    // measured in apps/bench.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 120_000 } },
  },
} satisfies ViteUserConfig;

/**
 * The same with one copy of the modules for all files of a worker: loading them again for each takes as long as the tests.
 * For packages whose tests put back what they change in globals and prototypes.
 */
export function together(config: ViteUserConfig): ViteUserConfig {
  return { ...config, test: { ...config.test, isolate: false } };
}

/**
 * Resolves packages of these names from the folder in `X_PEERS`, where it is set, instead of those that are installed: other
 * versions of a framework, see `tooling/peers.mjs`.
 */
export function withPeers(names: RegExp, config: ViteUserConfig): ViteUserConfig {
  const folder = process.env.X_PEERS;
  if (folder === undefined) return config;
  const plugin: Plugin = {
    name: 'other-peers',
    enforce: 'pre',
    resolveId(source) {
      // The importer has to be a file that is there.
      return names.test(source) ? this.resolve(source, `${folder}/package.json`, { skipSelf: true }) : null;
    },
  };
  return { ...config, plugins: [plugin] };
}

type ServiceName = 'redis' | 'redis-cluster' | 'mariadb' | 'postgres' | 'chromium' | 'bubblewrap';

/** The same, with services whose addresses the tests `inject`, by the keys of `ProvidedContext`. */
export function unitWith(...services: ServiceName[]): ViteUserConfig {
  const globalSetup = services.map((name) =>
    fileURLToPath(new URL(`./services/${name}.ts`, import.meta.url)),
  );
  return { ...unit, test: { ...unit.test, globalSetup } };
}
