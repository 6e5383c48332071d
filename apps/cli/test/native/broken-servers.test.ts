import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOpenAI } from '@ai-sdk/openai';
import { fromAiSdk } from '@x/ai-sdk';
import { budget, HarnessAgent } from '@x/harness';
import { brokenServers, chaosSuite } from '@x/test-support/suites';
import { afterAll } from 'vitest';

const directory = mkdtempSync(join(tmpdir(), 'x-broken-'));
afterAll(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));
let agents = 0;

chaosSuite({
  name: 'HarnessAgent over HTTP',
  models: brokenServers((url) => fromAiSdk(createOpenAI({ baseURL: url, apiKey: 'none' }).chat('gpt-5'))),
  build: ({ model, fallback, tools, session, settings, limits, maxTokensPerCall }) =>
    HarnessAgent.builder()
      .model(model, { fallback })
      .tools(...tools)
      .workspace(join(directory, `${++agents}`))
      .session(session)
      .settings(settings)
      .limits(limits)
      .use(...(maxTokensPerCall === undefined ? [] : [budget({ maxTokensPerCall })]))
      .build(),
});
