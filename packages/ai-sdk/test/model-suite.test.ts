import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { modelSuite } from '@x/testkit/suites';
import { fromAiSdk } from '../src/index.js';

const apiKey = 'none';

modelSuite({
  name: 'fromAiSdk over @ai-sdk/openai',
  format: 'openai-chat',
  open: (baseURL) => fromAiSdk(createOpenAI({ baseURL, apiKey }).chat('gpt-5')),
});
modelSuite({
  name: 'fromAiSdk over the Responses API of @ai-sdk/openai',
  format: 'openai-responses',
  open: (baseURL) => fromAiSdk(createOpenAI({ baseURL, apiKey }).responses('gpt-5')),
});
modelSuite({
  name: 'fromAiSdk over @ai-sdk/openai-compatible',
  format: 'openai-chat',
  open: (baseURL) => fromAiSdk(createOpenAICompatible({ name: 'acme', baseURL, apiKey })('large')),
});
modelSuite({
  name: 'fromAiSdk over @ai-sdk/anthropic',
  format: 'anthropic',
  open: (baseURL) => fromAiSdk(createAnthropic({ baseURL, apiKey })('claude-sonnet-4-5')),
});
modelSuite({
  name: 'fromAiSdk over @ai-sdk/google',
  format: 'google',
  open: (baseURL) => fromAiSdk(createGoogleGenerativeAI({ baseURL, apiKey })('gemini-2.5-pro')),
});
