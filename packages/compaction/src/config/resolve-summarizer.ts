import { InvalidInputError, isContextOverflow, type Model } from '@x/core';
import { tell } from '@x/core/internal';
import type { ParsedCompactionConfig } from './compaction-file.js';

/** The prompt and the agent that Aura ships, which its configuration names by default. */
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
  /**
   * Finds a model by what the program calls it, for names that are not in `agents`; `undefined` if there is none.
   * `preset` tells whose names they are.
   */
  readonly models?: ((name: string, preset: string | undefined) => Model | undefined) | undefined;
  /** The folder whose files `NAME.md` are in the tables, for messages. */
  readonly folder?: string | undefined;
  /** Hears that Aura's `agent` names nobody, so that the default takes over, and of a file that counts for nothing. Without it such a name is refused. */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** The summarizer when the file names none; `'own'` is the agent's own model. Default: none. */
  readonly defaultModel?: Model | 'own' | undefined;
}

/** The summarizer that was found. Without `model` it is the agent's own model; `null` means no model. */
export interface ResolvedSummarizer {
  readonly model?: Model | null;
  /** Replaces the instructions to the model. */
  readonly prompt?: string;
}

/**
 * Finds the model that writes the summaries: the one that the file names, else the agent's own with the prompt that the
 * file names, else the default. If there is none, the record is the summary. `Compaction`, the default that Aura ships,
 * stands for the default here where no file has that name.
 *
 * @throws {InvalidInputError} when no prompt or model has that name.
 */
export function resolveSummarizer(
  config: Pick<ParsedCompactionConfig, 'prompt' | 'model' | 'agent'>,
  { prompts = {}, agents = {}, models, folder, defaultModel, onWarning }: SummarizerSources,
  preset?: string,
): ResolvedSummarizer {
  if (config.model === null) return { model: null };
  const { agent } = config;
  const key = config.model === undefined && agent !== undefined ? 'agent' : 'model';
  const isShipped = (name: string | undefined) => preset === 'aura' && name === AURA_DEFAULT;
  const isOwnPrompt = config.prompt !== undefined && Object.hasOwn(prompts, config.prompt);
  const isDefaultPrompt = isShipped(config.prompt) && !isOwnPrompt;
  const prompt =
    config.prompt === undefined || isDefaultPrompt
      ? undefined
      : named(prompts, config.prompt, 'prompt', folder);
  const summarizer = (name: string): SummarizerAgent | undefined => {
    if (Object.hasOwn(agents, name)) return agents[name];
    // Everruns has two keys for a model: which of them it was is not known here.
    const model = under(preset === 'everruns' ? '' : key, () => models?.(name, preset));
    return model && { model };
  };
  // A prompt that names no model is for the agent's own.
  const own = agent !== undefined && Object.hasOwn(prompts, agent) ? prompts[agent] : undefined;
  if (own !== undefined && config.model === undefined && summarizer(agent as string) === undefined) {
    return own === '' ? {} : { prompt: own };
  }
  const isMissing =
    agent !== undefined && (onWarning !== undefined || isShipped(agent)) && summarizer(agent) === undefined;
  if (isMissing && !isShipped(agent)) {
    tell(
      'onWarning',
      onWarning,
      `agent: ${missing(agents, agent, 'model', folder)}; the default summarizer takes over`,
    );
  }
  const names = config.model ?? (isMissing ? undefined : agent);
  if (names !== undefined) {
    const found = [names].flat().map((name) => summarizer(name) ?? named(agents, name, 'model', folder));
    const text = prompt ?? found[0]?.summaryPrompt;
    const model = fallbackModel(...(found.map((each) => each.model) as [Model, ...Model[]]));
    return { model, ...(text === undefined ? {} : { prompt: text }) };
  }
  if (prompt !== undefined) return { prompt };
  // A prompt is for the agent's own model, also the one that is built in.
  if (isDefaultPrompt) return {};
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

/** Makes something, and puts the key of the configuration in front of what is wrong with it. */
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
