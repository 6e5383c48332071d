import { readFileSync } from 'node:fs';
import { expect, it, vi } from 'vitest';

// As where nobody has installed it.
vi.mock('js-tiktoken', () => {
  throw new Error('js-tiktoken is not installed');
});

it('takes a tokenizer of nobody who counts by estimate', async () => {
  const { createCompactor } = await import('../src/index.js');
  expect(createCompactor({ contextWindow: 10_000 })).toBeDefined();
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  expect(Object.keys(manifest.dependencies)).not.toContain('js-tiktoken');
  expect(manifest.peerDependenciesMeta['js-tiktoken']).toEqual({ optional: true });
});
