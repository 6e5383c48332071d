import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, vi } from 'vitest';
import { type FakeEndpoint, fakeEndpoint } from './fake-endpoint.js';

/** Runs each test of a file in a new folder, beside an endpoint that gives these answers. */
export function inFolder(answers: readonly { readonly text: string }[]): {
  directory: string;
  endpoint: FakeEndpoint;
} {
  const start = process.cwd();
  const place = {} as ReturnType<typeof inFolder>;
  beforeEach(async () => {
    place.directory = mkdtempSync(join(tmpdir(), 'x-run-'));
    place.endpoint = await fakeEndpoint([...answers]);
    vi.stubEnv('OPENAI_BASE_URL', place.endpoint.url);
    vi.stubEnv('OPENAI_API_KEY', 'secret-key');
    process.chdir(place.directory);
  });
  afterEach(async () => {
    await place.endpoint.close();
    vi.unstubAllEnvs();
    process.chdir(start);
    rmSync(place.directory, { recursive: true, force: true, maxRetries: 20 });
  });
  return place;
}
