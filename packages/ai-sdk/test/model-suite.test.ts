import { createOpenAI } from '@ai-sdk/openai';
import { modelSuite } from '@x/testkit/suites';
import { fromAiSdk } from '../src/index.js';

modelSuite({
  name: 'fromAiSdk over @ai-sdk/openai',
  open: (url) => fromAiSdk(createOpenAI({ baseURL: url, apiKey: 'none' }).chat('gpt-5')),
});
