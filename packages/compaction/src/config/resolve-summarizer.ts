import { InvalidInputError, isContextOverflow, type Model } from '@x/core';
import type { ParsedCompactionConfig } from './compaction-file.js';

/** A dedicated summarizer. */
export interface SummarizerAgent {
  readonly model: Model;
  readonly summaryPrompt?: string | undefined;
}

/** Tables of the prompts and summarizers that a configuration file names. */
export interface SummarizerSources {
  readonly prompts?: { readonly [name: string]: string } | undefined;
  readonly agents?: { readonly [name: string]: SummarizerAgent } | undefined;
  /** Finds a model by what the program calls it, for names that are not in `agents`. */
  readonly models?: ((name: string) => Model) | undefined;
  /** The summarizer when the file names none; `'own'` is the agent's own model. Default: none. */
  readonly defaultModel?: Model | 'own' | undefined;
}

/** The summarizer found. Without `model` it is the agent's own model, with `null` there is none. */
export interface ResolvedSummarizer {
  readonly model?: Model | null;
  /** Replaces the instructions to the model. */
  readonly prompt?: string;
}

/**
 * Finds the model that writes the summaries: the one that the file names, else the agent's own with the prompt that the
 * file names, else the default. Where there is none, the record is the summary.
 *
 * @throws {InvalidInputError} when no prompt or model has that name.
 */
export function resolveSummarizer(
  config: Pick<ParsedCompactionConfig, 'prompt' | 'model'>,
  { prompts = {}, agents = {}, models, defaultModel }: SummarizerSources,
): ResolvedSummarizer {
  if (config.model === null) return { model: null };
  const prompt = config.prompt === undefined ? undefined : named(prompts, config.prompt, 'prompt');
  if (config.model !== undefined) {
    const found = [config.model].flat().map((name): SummarizerAgent => {
      const isAgent = Object.hasOwn(agents, name) || models === undefined;
      return isAgent ? named(agents, name, 'model') : { model: models(name) };
    });
    const text = prompt ?? found[0]?.summaryPrompt;
    const model = fallbackModel(...(found.map((each) => each.model) as [Model, ...Model[]]));
    return { model, ...(text === undefined ? {} : { prompt: text }) };
  }
  if (prompt !== undefined) return { prompt };
  return defaultModel === 'own' ? {} : { model: defaultModel ?? null };
}

/**
 * Makes one summarizer of several: each takes over where the one before fails, unless the call was aborted or did not fit. Its
 * window is the smallest.
 *
 * @example
 * ```ts
 * compaction({ model: fallbackModel(haiku, gptMini) });
 * ```
 */
export function fallbackModel(first: Model, ...others: readonly Model[]): Model {
  if (others.length === 0) return first;
  const windows = [first, ...others].flatMap(({ contextWindow }) => contextWindow ?? []);
  return {
    id: first.id,
    ...(windows.length === 0 ? {} : { contextWindow: Math.min(...windows) }),
    async generate(request) {
      const [next, ...rest] = others as readonly [Model, ...Model[]];
      try {
        return await first.generate(request);
      } catch (error) {
        if (request.signal?.aborted || isContextOverflow(error)) throw error;
        return await fallbackModel(next, ...rest).generate(request);
      }
    },
  };
}

function named<Value>(values: { readonly [name: string]: Value }, name: string, kind: string): Value {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (value !== undefined) return value;
  const known = Object.keys(values).sort().join(', ') || 'none';
  throw new InvalidInputError('compaction configuration', [
    { path: kind, message: `there is no ${kind} named "${name}" (known: ${known})` },
  ]);
}
