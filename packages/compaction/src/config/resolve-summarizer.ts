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

/** Options of a compaction; without `model` the agent's own model summarizes, with `null` none does. */
export interface ResolvedSummarizer {
  readonly model?: Model | null;
  readonly summaryPrompt?: string;
}

/**
 * Who writes the summaries: the agent's own model with the `prompt` that the file names, else the `agent` that it names,
 * else the default, else nobody, so that reducers and the ledger do all.
 *
 * @throws {InvalidInputError} when there is nothing of that name.
 */
export function resolveSummarizer(
  config: Pick<ParsedCompactionConfig, 'prompt' | 'agent'> & {
    readonly options?: Pick<ParsedCompactionConfig['options'], 'summarizer'>;
  },
  { prompts = {}, agents = {}, defaultModel }: SummarizerSources,
): ResolvedSummarizer {
  if (config.options?.summarizer === 'none') return { model: null };
  if (config.prompt !== undefined) return { summaryPrompt: named(prompts, config.prompt, 'prompt') };
  if (config.agent !== undefined) {
    const { model, summaryPrompt } = named(agents, config.agent, 'agent');
    return { model, ...(summaryPrompt === undefined ? {} : { summaryPrompt }) };
  }
  if (defaultModel === 'own') return {};
  return { model: defaultModel ?? null };
}

function named<Value>(values: { readonly [name: string]: Value }, name: string, kind: string): Value {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (value !== undefined) return value;
  const known = Object.keys(values).sort().join(', ') || 'none';
  throw new InvalidInputError('compaction configuration', [
    { path: kind, message: `there is no ${kind} named "${name}" (known: ${known})` },
  ]);
}
