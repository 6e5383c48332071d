import { anthropicCompaction, fromAiSdk, openaiCompaction } from '@x/ai-sdk';
import { InvalidInputError, type Model } from '@x/core';
import type { ModelReference } from '@x/harness';
import * as z from 'zod';

type LanguageModel = Parameters<typeof fromAiSdk>[0];
type Fetch = typeof globalThis.fetch;
type Environment = Readonly<Record<string, string | undefined>>;

interface Provider {
  /** Names of the required environment variables. */
  readonly needs: readonly string[];
  /** The variable with the server's URL, and the default URL. */
  readonly server: readonly [variable: string, standard?: string];
  /** The provider's own compaction, if it has one. */
  readonly compaction?: typeof openaiCompaction | typeof anthropicCompaction;
  create(
    model: string,
    settings: { readonly baseURL: string; readonly fetch?: Fetch },
    environment: Environment,
  ): Promise<LanguageModel>;
}

/** Providers by the prefix of a model's name. Only the library of the chosen provider is loaded. */
const PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: {
    needs: ['OPENAI_API_KEY'],
    server: ['OPENAI_BASE_URL', 'https://api.openai.com/v1'],
    compaction: openaiCompaction,
    async create(model, settings, { OPENAI_API_KEY: apiKey = '' }) {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI({ ...settings, apiKey })(model);
    },
  },
  anthropic: {
    needs: ['ANTHROPIC_API_KEY'],
    server: ['ANTHROPIC_BASE_URL', 'https://api.anthropic.com/v1'],
    compaction: anthropicCompaction,
    async create(model, settings, { ANTHROPIC_API_KEY: apiKey = '' }) {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic({ ...settings, apiKey })(model);
    },
  },
  /** Ollama, vLLM, llama.cpp, LiteLLM and other servers with the Chat Completions protocol. */
  compatible: {
    needs: ['OPENAI_BASE_URL'],
    server: ['OPENAI_BASE_URL'],
    async create(model, { baseURL }, { OPENAI_API_KEY: apiKey }) {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const settings = { name: 'compatible', baseURL, includeUsage: true };
      return createOpenAICompatible(apiKey ? { ...settings, apiKey } : settings)(model);
    },
  },
};

/** The environment variables with the URLs of servers. */
export const SERVER_VARIABLES = [...new Set(Object.values(PROVIDERS).map(({ server: [name] }) => name))];

/** Returns the variable with the API key for the server in a variable. */
export const keyVariableOf = (server: string) => server.replace('BASE_URL', 'API_KEY');

/**
 * Asks the server in a variable for its models, with the API key of the environment. Returns the HTTP status, and the models if the server
 * lists them. vLLM also reports their context windows.
 */
export async function listModels(server: string, timeoutMs: number) {
  const key = process.env[keyVariableOf(server)];
  const sent: Record<string, string> = server.startsWith('ANTHROPIC')
    ? { 'x-api-key': key ?? '', 'anthropic-version': '2023-06-01' }
    : { authorization: `Bearer ${key}` };
  const response = await fetch(`${process.env[server]?.replace(/\/$/, '')}/models`, {
    signal: AbortSignal.timeout(timeoutMs),
    headers: key ? sent : {},
  });
  const served = z.object({ id: z.string(), max_model_len: z.int().positive().optional().catch(undefined) });
  const list = response.ok && z.object({ data: z.array(served) });
  const found = list ? list.safeParse(await response.json().catch(() => undefined)) : undefined;
  return { status: response.status, models: found?.data?.data };
}

const WITH_COMPACTION = Object.keys(PROVIDERS).filter((name) => PROVIDERS[name]?.compaction);

/**
 * Returns the model with a name such as `openai:gpt-5`. API keys come from the environment.
 *
 * @throws {InvalidInputError} for a name without a known provider, or a variable that is not set.
 */
export async function chooseModel(
  reference: ModelReference,
  environment: Environment = process.env,
): Promise<Model> {
  return prepareModel(reference, environment)();
}

/** Like {@link chooseModel}, but synchronous: the library is loaded with the first request. Errors begin with `role`. */
export function lazyModel(reference: ModelReference, environment: Environment, role = ''): Model {
  const make = prepareModel(reference, environment, role);
  let model: Promise<Model> | undefined;
  return {
    id: reference.id,
    contextWindow: reference.contextWindow,
    async generate(request) {
      model ??= make();
      return (await model).generate(request);
    },
  };
}

/** Validates a model reference, and returns a function that creates the model. */
function prepareModel(
  { id, contextWindow, nativeCompaction }: ModelReference,
  environment: Environment,
  role = '',
): () => Promise<Model> {
  const [providerName = '', ...rest] = id.split(':');
  const model = rest.join(':');
  const provider = Object.hasOwn(PROVIDERS, providerName) ? PROVIDERS[providerName] : undefined;
  if (provider === undefined || model === '') {
    throw invalidModel(
      `${role}"${id}" is not of the form PROVIDER:MODEL. Providers: ${Object.keys(PROVIDERS).join(', ')}`,
    );
  }
  const missing = provider.needs.filter((name) => !environment[name]);
  if (missing.length > 0) {
    const ready = Object.entries(PROVIDERS).filter(([, one]) => one.needs.every((key) => environment[key]));
    const other = ready.map(([name]) => `${name}:MODEL`).join(' or ');
    const advice = other && `. With the variables that are set, use: ${other}`;
    throw invalidModel(`${role}"${id}" needs the environment variable ${missing.join(' and ')}${advice}`);
  }
  const baseURL = serverOf(provider, environment);
  if (nativeCompaction === 'auto' && provider.compaction === undefined) {
    process.emitWarning(
      `${id} has native_compaction: auto, but ${providerName} does not provide compaction, so this setting has no effect. Remove it, or use ` +
        `${WITH_COMPACTION.join(' or ')}.`,
    );
  }
  return async () => {
    const compact = nativeCompaction === 'auto' ? provider.compaction?.() : undefined;
    const settings = compact?.fetch ? { baseURL, fetch: compact.fetch } : { baseURL };
    const languageModel = await provider.create(model, settings, environment);
    const window = contextWindow ?? (await knownWindow(providerName, model));
    return fromAiSdk(languageModel, {
      id,
      ...(window === undefined ? {} : { contextWindow: window }),
      ...(compact === undefined ? {} : { compact }),
    });
  };
}

/**
 * Returns the URL of a provider's server. An empty variable counts as not set, because the libraries would use it as a URL.
 *
 * @throws {InvalidInputError} if it is not a valid URL.
 */
function serverOf({ server: [variable, standard = ''] }: Provider, environment: Environment): string {
  const address = environment[variable] || standard;
  if (isHttpUrl(address)) return address;
  throw invalidModel(`the environment variable ${variable} ${NOT_A_URL}`);
}

/** Error message for values that {@link isHttpUrl} rejects. */
export const NOT_A_URL = 'is not a URL: it must begin with http:// or https://';

/** Returns whether a text is an HTTP URL. */
export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Returns the known window of a model. Returns `undefined` for a self-hosted model, because its window may be smaller than usual. */
async function knownWindow(provider: string, model: string): Promise<number | undefined> {
  if (provider === 'compatible') return undefined;
  const { modelWindow } = await import('../known-models.js');
  return modelWindow(model);
}

function invalidModel(message: string): InvalidInputError {
  return new InvalidInputError('model', [{ path: '', message }]);
}
