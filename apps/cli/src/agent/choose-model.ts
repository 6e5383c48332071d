import { fromAiSdk } from '@x/ai-sdk';
import { InvalidInputError, type Model } from '@x/core';
import type { ModelReference } from '@x/harness';

type LanguageModel = Parameters<typeof fromAiSdk>[0];
type Environment = Readonly<Record<string, string | undefined>>;

interface Provider {
  /** Names of the environment variables that it needs. */
  readonly needs: readonly string[];
  create(model: string, environment: Environment): Promise<LanguageModel>;
}

/** By the word before the colon of a model's name. Only the chosen provider's library is loaded. */
const PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: {
    needs: ['OPENAI_API_KEY'],
    async create(model, { OPENAI_API_KEY: apiKey = '' }) {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI({ apiKey })(model);
    },
  },
  anthropic: {
    needs: ['ANTHROPIC_API_KEY'],
    async create(model, { ANTHROPIC_API_KEY: apiKey = '' }) {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic({ apiKey })(model);
    },
  },
  /** Ollama, vLLM, llama.cpp, LiteLLM and whatever else speaks the Chat Completions protocol. */
  compatible: {
    needs: ['OPENAI_BASE_URL'],
    async create(model, { OPENAI_BASE_URL: baseURL = '', OPENAI_API_KEY: apiKey }) {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const settings = { name: 'compatible', baseURL, includeUsage: true };
      return createOpenAICompatible(apiKey ? { ...settings, apiKey } : settings)(model);
    },
  },
};

/**
 * The model that a name such as `openai:gpt-5` means; keys come from the environment.
 *
 * @throws {InvalidInputError} for a name without a known provider, or a variable that is not set.
 */
export async function chooseModel(
  { id, contextWindow }: ModelReference,
  environment: Environment = process.env,
): Promise<Model> {
  const [providerName = '', ...rest] = id.split(':');
  const model = rest.join(':');
  const provider = Object.hasOwn(PROVIDERS, providerName) ? PROVIDERS[providerName] : undefined;
  if (provider === undefined || model === '') {
    throw refuse(`"${id}" is not PROVIDER:MODEL with one of ${Object.keys(PROVIDERS).join(', ')}`);
  }
  const missing = provider.needs.filter((name) => !environment[name]);
  if (missing.length > 0) throw refuse(`"${id}" needs the environment variable ${missing.join(' and ')}`);
  const languageModel = await provider.create(model, environment);
  return fromAiSdk(languageModel, contextWindow === undefined ? {} : { contextWindow });
}

function refuse(message: string): InvalidInputError {
  return new InvalidInputError('model', [{ path: '', message }]);
}
