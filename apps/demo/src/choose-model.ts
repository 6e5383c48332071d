import { tiktokenCounter } from '@x/compaction/tiktoken';
import { InvalidInputError, type Model } from '@x/core';
import { chooseModel as chooseProvider } from '../../cli/src/agent/choose-model.js';
import { GuideModel } from './guide/guide-model.js';

/** Small enough that the embedded guide's survey must be compacted several times. */
const GUIDE_WINDOW = 16_000;

/** Providers in the order in which the environment is asked for them, by the variable that names them. */
const PROVIDERS = [
  {
    variable: 'OPENAI_BASE_URL',
    provider: 'compatible',
    modelVariable: 'OPENAI_MODEL',
    model: undefined,
    contextWindow: 32_000,
  },
  {
    variable: 'OPENAI_API_KEY',
    provider: 'openai',
    modelVariable: 'OPENAI_MODEL',
    model: 'gpt-5',
    contextWindow: 400_000,
  },
  {
    variable: 'ANTHROPIC_API_KEY',
    provider: 'anthropic',
    modelVariable: 'ANTHROPIC_MODEL',
    model: 'claude-sonnet-4-5',
    contextWindow: 200_000,
  },
] as const;

export interface ModelChoice {
  readonly model: Model;
  /** True for the embedded guide. */
  readonly embedded: boolean;
}

/**
 * Chooses the model that the environment names: a compatible endpoint, OpenAI, Anthropic, or else the embedded guide.
 *
 * @throws {InvalidInputError} when an endpoint is set without a model.
 */
export async function chooseModel(
  environment: Readonly<Record<string, string | undefined>>,
  options: { readonly contextWindow?: number | undefined; readonly paceMs?: number | undefined },
): Promise<ModelChoice> {
  const { contextWindow, paceMs = 0 } = options;
  const chosen = PROVIDERS.find(({ variable }) => environment[variable]);
  if (chosen === undefined) {
    const counter = tiktokenCounter();
    const model = new GuideModel({ contextWindow: contextWindow ?? GUIDE_WINDOW, counter, paceMs });
    return { model, embedded: true };
  }
  const name = environment[chosen.modelVariable] || chosen.model;
  if (name === undefined) {
    const message = `must name a model that ${environment[chosen.variable]} serves`;
    throw new InvalidInputError('environment', [{ path: chosen.modelVariable, message }]);
  }
  const nativeCompaction = environment.X_NATIVE_COMPACTION === 'auto' ? ('auto' as const) : undefined;
  const model = await chooseProvider(
    {
      id: `${chosen.provider}:${name}`,
      contextWindow: contextWindow ?? chosen.contextWindow,
      ...(nativeCompaction && { nativeCompaction }),
    },
    environment,
  );
  return { model, embedded: false };
}
