import { tiktokenCounter } from '@x/compaction/tiktoken';
import { InvalidInputError, type Model } from '@x/core';
import { chooseModel as chooseProvider } from '../../cli/src/agent/choose-model.js';
import { GuideModel } from './guide/guide-model.js';

/** Tokens. Small enough that the embedded guide's survey must be compacted several times. */
const GUIDE_WINDOW = 16_000;

/** Providers in order of precedence. The first whose variable is set is used, with its model variable, default model and window. */
const PROVIDERS = [
  ['OPENAI_BASE_URL', 'compatible', 'OPENAI_MODEL', undefined, 32_000],
  ['OPENAI_API_KEY', 'openai', 'OPENAI_MODEL', 'gpt-5', 400_000],
  ['ANTHROPIC_API_KEY', 'anthropic', 'ANTHROPIC_MODEL', 'claude-sonnet-4-5', 200_000],
] as const;

export interface ModelChoice {
  readonly model: Model;
  /** Whether it is the embedded guide. */
  readonly embedded: boolean;
}

/**
 * Chooses the model from the environment: a compatible endpoint, OpenAI, Anthropic, or else the embedded guide.
 *
 * @throws {InvalidInputError} when an endpoint is set without a model.
 */
export async function chooseModel(
  environment: Readonly<Record<string, string | undefined>>,
  options: { readonly contextWindow?: number | undefined; readonly paceMs?: number | undefined },
): Promise<ModelChoice> {
  const { contextWindow, paceMs = 0 } = options;
  const chosen = PROVIDERS.find(([variable]) => environment[variable]);
  if (chosen === undefined) {
    const counter = tiktokenCounter();
    const model = new GuideModel({ contextWindow: contextWindow ?? GUIDE_WINDOW, counter, paceMs });
    return { model, embedded: true };
  }
  const [variable, provider, modelVariable, usual, window] = chosen;
  const name = environment[modelVariable] || usual;
  if (name === undefined) {
    const message = `must name a model that ${environment[variable]} serves`;
    throw new InvalidInputError('environment', [{ path: modelVariable, message }]);
  }
  const native = environment.X_NATIVE_COMPACTION === 'auto' ? { nativeCompaction: 'auto' as const } : {};
  const settings = { id: `${provider}:${name}`, contextWindow: contextWindow ?? window, ...native };
  return { model: await chooseProvider(settings, environment), embedded: false };
}
