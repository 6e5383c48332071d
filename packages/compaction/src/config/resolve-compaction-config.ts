import { InvalidInputError } from '@x/core';
import { notify } from '@x/core/internal';
import { configOf, type ParsedCompactionConfig, parseCompactionConfig } from './compaction-file.js';

/** Sources of a configuration, each as parsed data with keys in snake_case. */
export interface CompactionConfigSources {
  /** The front matter of an agent's file, whose `features.compaction` is read. */
  readonly frontMatter?: unknown;
  /** The content of `compaction.yaml`, for all agents. */
  readonly file?: unknown;
  /** The name of that file in errors. Default `compaction.yaml`. */
  readonly fileName?: string | undefined;
  /** The program's own values for keys that neither the front matter nor the file sets. */
  readonly defaults?: unknown;
  /** Receives a warning if a source is ignored because a source with precedence uses another preset. */
  readonly onWarning?: ((message: string) => void) | undefined;
}

type Layer = Readonly<Record<string, unknown>>;

/** Keys that exclude each other: if a layer sets one, the layers below lose the others. */
const ALTERNATIVES = [
  ['trigger', 'target'],
  ['threshold', 'max_tokens'],
  ['trigger_messages', 'trigger_tokens'],
  ['keep_messages', 'keep_tokens'],
  ['prompt', 'agent', 'summary_prompt', 'model'],
] as const;

/** The sizes of a group, which exclude each other. */
const SIZES: Readonly<Record<string, readonly string[]>> = {
  trigger: ['share', 'tokens', 'messages'],
  keep: ['share', 'tokens', 'messages', 'outputs'],
};

/**
 * Merges the configuration of one agent. For each key, the agent's front matter wins over `compaction.yaml`, then the program's defaults,
 * then the built-in defaults. Groups are merged key by key too; 0 and `false` count as set. If a layer has another preset than a
 * layer with precedence, it is ignored.
 *
 * @throws {InvalidInputError} naming every unknown key and every combination that cannot work, in snake_case, with its file.
 */
export function resolveCompactionConfig({
  frontMatter,
  file,
  fileName = 'compaction.yaml',
  defaults,
  onWarning,
}: CompactionConfigSources): ParsedCompactionConfig {
  const subjects = ['compaction configuration', fileName, 'defaults of the compaction configuration'];
  const { features } = asLayer(frontMatter, 'front matter');
  const { compaction } = asLayer(features, 'features');
  const layers = [compaction, file, defaults].map((layer, index) =>
    asLayer(configOf(layer, subjects[index]), subjects[index] as string),
  );
  const firstNamed = layers.findIndex((layer) => Object.hasOwn(layer, 'preset'));
  const preset = layers[firstNamed]?.preset;
  const heard = layers.map((layer, index) => {
    const isOther = firstNamed !== -1 && index > firstNamed && layer.preset !== preset;
    // Check each layer by itself, so that its mistakes are not attributed to another file.
    parseCompactionConfig(isOther || index >= firstNamed ? layer : { preset, ...layer }, subjects[index]);
    if (isOther && Object.keys(layer).length > 0) {
      const named = layer.preset === undefined ? 'no preset' : `preset ${layer.preset}`;
      const message = `is ignored: its keys are those of ${named}, but the agent's own file has keys of preset ${preset}`;
      notify('onWarning', onWarning, `${subjects[index]} ${message}`);
    }
    return isOther ? {} : layer;
  });
  try {
    return parseCompactionConfig(heard.reduceRight(merged, {}));
  } catch (error) {
    throw placed(error, heard[0] ?? {}, heard[1] ?? {}, fileName);
  }
}

/** Adds the file name to errors about keys that only the file for all agents has. */
function placed(error: unknown, own: Layer, file: Layer, fileName: string): unknown {
  if (!InvalidInputError.isInstance(error)) return error;
  const issues = error.issues.map(({ path, message }) => {
    const [key = ''] = path.split(/[.[]/, 1);
    if (Object.hasOwn(own, key) || !Object.hasOwn(file, key)) return { path, message };
    return { path: '', message: `together with ${fileName}, where ${path}: ${message}` };
  });
  return new InvalidInputError(error.subject, issues, { cause: error });
}

/** Merges two layers: the keys of `near`, and those of `far` that `near` does not set. */
function merged(far: Layer, near: Layer): Layer {
  const kept = without(far, near, ALTERNATIVES);
  const groups = Object.entries(near).map(([key, ours]) => {
    const theirs = Object.hasOwn(far, key) ? far[key] : undefined;
    if (!isLayer(ours) || !isLayer(theirs)) return [key, ours];
    return [key, { ...without(theirs, ours, [SIZES[key] ?? []]), ...ours }];
  });
  return { ...kept, ...Object.fromEntries(groups) };
}

/** Returns the keys of `far` that `near` does not replace. */
function without(far: Layer, near: Layer, alternatives: readonly (readonly string[])[]): Layer {
  const silenced = new Set(
    alternatives.filter((keys) => keys.some((key) => Object.hasOwn(near, key))).flat(),
  );
  return Object.fromEntries(Object.entries(far).filter(([key]) => !silenced.has(key)));
}

function asLayer(value: unknown, subject: string): Layer {
  if (value === undefined || value === null) return {};
  if (isLayer(value)) return value;
  throw new InvalidInputError(subject, [{ path: '', message: 'must be an object' }]);
}

function isLayer(value: unknown): value is Layer {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
