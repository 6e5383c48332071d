import { InvalidInputError, type Model } from '@x/core';
import type { ParsedCompactionConfig } from './compaction-file.js';

/** A dedicated summarizer. */
export interface SummarizerAgent {
  readonly model: Model;
  readonly summaryPrompt?: string | undefined;
}

/** What the names in a configuration file stand for. */
export interface SummarizerSources {
  readonly prompts?: { readonly [name: string]: string } | undefined;
  readonly agents?: { readonly [name: string]: SummarizerAgent } | undefined;
  /** Who summarizes when the file names nobody; `'own'`: the agent's own model. Left out: nobody. */
  readonly defaultModel?: Model | 'own' | undefined;
}

/** Who writes; without `model` the agent's own model does, with `null` none. */
export interface ResolvedSummarizer {
  readonly model?: Model | null;
  /** Replaces the instructions to the model. */
  readonly prompt?: string;
}

/**
 * Who writes the summaries: the model that the file names, else the agent's own with the prompt that it names, else the
 * default, else nobody, so that the record is the summary.
 *
 * @throws {InvalidInputError} when there is nothing of that name.
 */
export function resolveSummarizer(
  config: Pick<ParsedCompactionConfig, 'prompt' | 'model'>,
  { prompts = {}, agents = {}, defaultModel }: SummarizerSources,
): ResolvedSummarizer {
  if (config.model === null) return { model: null };
  const prompt = config.prompt === undefined ? undefined : named(prompts, config.prompt, 'prompt');
  if (config.model !== undefined) {
    const { model, summaryPrompt } = named(agents, config.model, 'model');
    const text = prompt ?? summaryPrompt;
    return { model, ...(text === undefined ? {} : { prompt: text }) };
  }
  if (prompt !== undefined) return { prompt };
  return defaultModel === 'own' ? {} : { model: defaultModel ?? null };
}

function named<Value>(values: { readonly [name: string]: Value }, name: string, kind: string): Value {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (value !== undefined) return value;
  const known = Object.keys(values).sort().join(', ') || 'none';
  throw new InvalidInputError('compaction configuration', [
    { path: kind, message: `there is no ${kind} named "${name}" (known: ${known})` },
  ]);
}
