import { anthropicCompaction, fromAiSdk, openaiCompaction } from '@x/ai-sdk';
import { tiktokenCounter } from '@x/compaction/tiktoken';
import { InvalidInputError, type Model } from '@x/core';
import { GuideModel } from './guide/guide-model.js';

/** Small enough that the embedded guide's survey must be compacted several times. */
const GUIDE_WINDOW = 16_000;
const DEFAULT_OPENAI = { model: 'gpt-5', contextWindow: 400_000 };
const DEFAULT_ANTHROPIC = { model: 'claude-sonnet-4-5', contextWindow: 200_000 };
/** Tokens assumed for a compatible endpoint unless X_CONTEXT_WINDOW says otherwise. */
const UNKNOWN_WINDOW = 32_000;

export interface ModelChoice {
  readonly model: Model;
  /** True for the embedded guide. */
  readonly embedded: boolean;
}

/**
 * The model that the environment names: a compatible endpoint, OpenAI, Anthropic, or else the embedded guide. Only the
 * chosen provider's library is loaded.
 *
 * @throws {InvalidInputError} when an endpoint is set without a model.
 */
export async function chooseModel(
  environment: Readonly<Record<string, string | undefined>>,
  options: { readonly contextWindow?: number | undefined; readonly paceMs?: number | undefined },
): Promise<ModelChoice> {
  const { OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL, ANTHROPIC_API_KEY, ANTHROPIC_MODEL } = environment;
  const isNative = environment.X_NATIVE_COMPACTION === 'auto';
  type Options = NonNullable<Parameters<typeof fromAiSdk>[1]>;
  const external = (
    languageModel: Parameters<typeof fromAiSdk>[0],
    contextWindow: number,
    compact?: Options['compact'],
  ): ModelChoice => ({
    model: fromAiSdk(languageModel, {
      contextWindow: options.contextWindow ?? contextWindow,
      ...(compact ? { compact } : {}),
    }),
    embedded: false,
  });
  if (OPENAI_BASE_URL) {
    if (!OPENAI_MODEL) {
      throw new InvalidInputError('environment', [
        { path: 'OPENAI_MODEL', message: `must name a model that ${OPENAI_BASE_URL} serves` },
      ]);
    }
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const provider = createOpenAICompatible({
      name: 'openai-compatible',
      baseURL: OPENAI_BASE_URL,
      includeUsage: true,
      ...(OPENAI_API_KEY ? { apiKey: OPENAI_API_KEY } : {}),
    });
    return external(provider(OPENAI_MODEL), UNKNOWN_WINDOW);
  }
  if (OPENAI_API_KEY) {
    const { createOpenAI } = await import('@ai-sdk/openai');
    const compact = isNative ? openaiCompaction() : undefined;
    const provider = createOpenAI({ apiKey: OPENAI_API_KEY, ...(compact ? { fetch: compact.fetch } : {}) });
    return external(provider(OPENAI_MODEL ?? DEFAULT_OPENAI.model), DEFAULT_OPENAI.contextWindow, compact);
  }
  if (ANTHROPIC_API_KEY) {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    const compact = isNative ? anthropicCompaction() : undefined;
    const provider = createAnthropic({
      apiKey: ANTHROPIC_API_KEY,
      ...(compact ? { fetch: compact.fetch } : {}),
    });
    const model = provider(ANTHROPIC_MODEL ?? DEFAULT_ANTHROPIC.model);
    return external(model, DEFAULT_ANTHROPIC.contextWindow, compact);
  }
  return {
    model: new GuideModel({
      contextWindow: options.contextWindow ?? GUIDE_WINDOW,
      counter: tiktokenCounter(),
      ...(options.paceMs === undefined ? {} : { paceMs: options.paceMs }),
    }),
    embedded: true,
  };
}
