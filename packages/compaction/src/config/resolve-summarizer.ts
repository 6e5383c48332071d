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
  /**
   * Finds a model by what the program calls it, for names that are not in `agents`; `undefined` where there is none.
   * `preset` tells whose names they are.
   */
  readonly models?: ((name: string, preset: string | undefined) => Model | undefined) | undefined;
  /** The folder whose files `NAME.md` are in the tables, for messages. */
  readonly folder?: string | undefined;
  /** Hears that Aura's `agent` names nobody, so that the default takes over. Without it such a name is refused. */
  readonly onWarning?: ((message: string) => void) | undefined;
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
  config: Pick<ParsedCompactionConfig, 'prompt' | 'model' | 'agent'>,
  { prompts = {}, agents = {}, models, folder, defaultModel, onWarning }: SummarizerSources,
  preset?: string,
): ResolvedSummarizer {
  if (config.model === null) return { model: null };
  const prompt = config.prompt === undefined ? undefined : named(prompts, config.prompt, 'prompt', folder);
  const summarizer = (name: string): SummarizerAgent | undefined => {
    if (Object.hasOwn(agents, name)) return agents[name];
    const model = models?.(name, preset);
    return model && { model };
  };
  const { agent } = config;
  const isMissing = agent !== undefined && onWarning !== undefined && summarizer(agent) === undefined;
  if (isMissing)
    onWarning(`agent: ${missing(agents, agent, 'model', folder)}; the default summarizer takes over`);
  const names = config.model ?? (isMissing ? undefined : agent);
  if (names !== undefined) {
    const found = [names].flat().map((name) => summarizer(name) ?? named(agents, name, 'model', folder));
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

function named<Value>(
  values: { readonly [name: string]: Value },
  name: string,
  kind: string,
  folder: string | undefined,
): Value {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (value !== undefined) return value;
  throw new InvalidInputError('compaction configuration', [
    { path: kind, message: missing(values, name, kind, folder) },
  ]);
}

/** Tells that nothing has a name, and where it was looked for. */
function missing(values: object, name: string, kind: string, folder: string | undefined): string {
  const known = Object.keys(values).sort().join(', ') || 'none';
  const words = `there is no ${kind} named "${name}" (known: ${known})`;
  if (folder === undefined) return words;
  const file = `${folder}/${name}.md`;
  return kind === 'prompt'
    ? `${words}; it would stand in ${file}`
    : `${words}: it is neither PROVIDER:MODEL nor a file ${file} with a \`model\` in its front matter`;
}
