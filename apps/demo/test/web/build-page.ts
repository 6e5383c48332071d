import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the page, built for these tests. */
    webRoot: string;
  }
}

/** Builds the page once for all tests. */
export default async function buildPage(project: TestProject): Promise<() => Promise<void>> {
  const outDir = await mkdtemp(join(tmpdir(), 'x-demo-web-'));
  const configFile = fileURLToPath(new URL('../../vite.config.ts', import.meta.url));
  // Vitest has set this to `test`; the page is tested as it is shipped.
  await build({ configFile, mode: 'production', logLevel: 'warn', build: { outDir } });
  project.provide('webRoot', outDir);
  return () => rm(outDir, { recursive: true, force: true, maxRetries: 20 });
}
