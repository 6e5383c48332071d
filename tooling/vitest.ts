import type { ViteUserConfig } from 'vitest/config';

const conditions = ['@x/source'];

/** How every package is tested: against its neighbours' sources, so that no build comes first. */
export const unit: ViteUserConfig = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: { include: ['test/**/*.test.ts'] },
};
