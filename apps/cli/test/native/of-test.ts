import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, vi } from 'vitest';
import { type ProviderServer, providerServer } from './provider-server.js';

/** The directory of the test. */
export let directory: string;
/** The provider of the test. */
export let server: ProviderServer;
/** Gives each test of the file that calls this a directory and a provider. */
export function withProvider(): void {
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'x-native-'));
    server = await providerServer();
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await server.close();
    rmSync(directory, { recursive: true, force: true, maxRetries: 20 });
  });
}

/** What the SDKs and the agent's file read of the environment. */
export const environment = () => ({
  OPENAI_API_KEY: 'secret',
  OPENAI_BASE_URL: server.url,
  ANTHROPIC_API_KEY: 'secret',
  ANTHROPIC_BASE_URL: server.url,
});

/** Sets it until the test ends. */
export function setEnvironment(): void {
  for (const [name, value] of Object.entries(environment())) vi.stubEnv(name, value);
}
