import { InvalidInputError, isContextOverflow, type Model } from '@x/core';
import { notify } from '@x/core/internal';
import type { ParsedCompactionConfig } from './compaction-file.js';

/** Name of the default prompt and agent in Aura's configuration. */
const AURA_DEFAULT = 'Compaction';

/** A dedicated summarizer. */
export interface SummarizerAgent {
  readonly model: Model;
  readonly summaryPrompt?: string | undefined;
}

/** Tables of the prompts and summarizers that a configuration file names. */
export interface SummarizerSources {
  readonly prompts?: { readonly [name: string]: string } | undefined;
  readonly agents?: { readonly [name: string]: SummarizerAgent } | undefined;
  /** Returns the model for a name that is not in `agents`, or `undefined`. `preset` determines the naming scheme. */
  readonly models?: ((name: string, preset: string | undefined) => Model | undefined) | undefined;
  /** The folder of the files `NAME.md` that define prompts and agents. Only error messages use it. */
  readonly folder?: string | undefined;
  /**
   * Receives a warning if Aura's `agent` is not the name of a summarizer and the default is used instead, or if a file is ignored. Without
   * `onWarning`, such a name is an error.
   */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** The summarizer when the file names none; `'own'` is the agent's own model. Default: none. */
  readonly defaultModel?: Model | 'own' | undefined;
}

/** The resolved summarizer. Without `model`, the agent's own model summarizes; `null` means no model. */
export interface ResolvedSummarizer {
  readonly model?: Model | null;
  /** Replaces the instructions to the model. */
  readonly prompt?: string;
}

/**
 * Finds the model that writes the summaries: the one that the file names, else the agent's own with the prompt that the file names, else
 * the default. If there is no default, summaries consist of the record alone. Aura's `Compaction` means the default, unless a file has
 * that name.
 *
 * @throws {InvalidInputError} if no prompt or model has that name.
 */
export function resolveSummarizer(
  config: Pick<ParsedCompactionConfig, 'prompt' | 'model' | 'agent'>,
  { prompts = {}, agents = {}, models, folder, defaultModel, onWarning }: SummarizerSources,
  preset?: string,
): ResolvedSummarizer {
  const { model, agent } = config;
  if (model === null) return { model: null };
  const isShipped = (name: string) => preset === 'aura' && name === AURA_DEFAULT;
  const summarizer = (name: string, key: string): SummarizerAgent | undefined => {
    if (Object.hasOwn(agents, name)) return agents[name];
    // Everruns has two keys for a model. This function does not know which one was set.
    const found = under(preset === 'everruns' ? '' : key, () => models?.(name, preset));
    return found && { model: found };
  };
  const fallback = defaultModel === 'own' ? {} : { model: defaultModel ?? null };
  const { prompt: name } = config;
  const isDefault = name !== undefined && isShipped(name) && !Object.hasOwn(prompts, name);
  const prompt = name === undefined || isDefault ? undefined : named(prompts, name, 'prompt', folder);
  if (model !== undefined) {
    const find = (each: string) => summarizer(each, 'model') ?? named(agents, each, 'model', folder);
    const found = [model].flat().map(find);
    const writer = fallbackModel(...(found.map((each) => each.model) as [Model, ...Model[]]));
    return { model: writer, ...promptOf(prompt ?? found[0]?.summaryPrompt) };
  }
  if (agent !== undefined) {
    const found = summarizer(agent, 'agent');
    if (found) return { model: found.model, ...promptOf(found.summaryPrompt) };
    // A prompt without a model is for the agent's own model.
    if (Object.hasOwn(prompts, agent)) return promptOf(prompts[agent] || undefined);
    if (isShipped(agent)) return fallback;
    if (onWarning === undefined) named(agents, agent, 'model', folder);
    const problem = missing(agents, agent, 'model', folder);
    notify('onWarning', onWarning, `agent: ${problem}; the default summarizer is used instead`);
    return fallback;
  }
  // A prompt is for the agent's own model. This includes the built-in prompt.
  return isDefault ? {} : prompt === undefined ? fallback : { prompt };
}

function promptOf(prompt: string | undefined): Pick<ResolvedSummarizer, 'prompt'> {
  return prompt === undefined ? {} : { prompt };
}

/**
 * Combines several summarizers. If one fails, the next one is called, unless the call was aborted or the request did not fit. The context
 * window is the smallest of all.
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

/** Runs a function and adds the configuration key to its errors. */
function under<Value>(key: string, make: () => Value): Value {
  try {
    return make();
  } catch (cause) {
    if (!InvalidInputError.isInstance(cause)) throw cause;
    const issues = cause.issues.map(({ path, message }) => ({ path: path || key, message }));
    throw new InvalidInputError('compaction configuration', issues, { cause });
  }
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

/** Builds the error for an unknown name, with the places where it was searched. */
function missing(values: object, name: string, kind: string, folder: string | undefined): string {
  const known = Object.keys(values).sort().join(', ') || 'none';
  const words = `there is no ${kind} named "${name}" (known: ${known})`;
  if (folder === undefined) return words;
  const file = `${folder}/${name}.md`;
  return kind === 'prompt'
    ? `${words}. To define it, create ${file}`
    : `${words}. It is not PROVIDER:MODEL, and there is no file ${file} with a \`model\` in its front matter`;
}
