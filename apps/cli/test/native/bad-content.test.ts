import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { fromAiSdk } from '@x/ai-sdk';
import { HarnessAgent, permissions } from '@x/harness';
import { mcp } from '@x/harness/mcp';
import { contentSuite } from '@x/test-support/suites';
import { afterAll } from 'vitest';

const directory = mkdtempSync(join(tmpdir(), 'x-content-'));
afterAll(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));
let agents = 0;
const apiKey = 'none';

contentSuite({
  name: 'HarnessAgent',
  open: {
    anthropic: (baseURL) => fromAiSdk(createAnthropic({ baseURL, apiKey })('claude-sonnet-4-5')),
    'openai-responses': (baseURL) => fromAiSdk(createOpenAI({ baseURL, apiKey }).responses('gpt-5')),
    'openai-chat': (baseURL) => fromAiSdk(createOpenAI({ baseURL, apiKey }).chat('gpt-5')),
    google: (baseURL) => fromAiSdk(createGoogleGenerativeAI({ baseURL, apiKey })('gemini-2.5-pro')),
  },
  build: async ({ model, tools, session, mcp: client }) =>
    HarnessAgent.builder()
      .model(model)
      .tools(...tools)
      .workspace(join(directory, `${++agents}`))
      .session(session)
      .onEvent(() => {})
      .use(permissions({ mode: 'bypass' }), await mcp({ servers: { far: { client: client as never } } }))
      .build(),
});
