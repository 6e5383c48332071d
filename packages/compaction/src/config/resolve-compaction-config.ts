import { InvalidInputError } from '@x/core';
import { configOf, type ParsedCompactionConfig, parseCompactionConfig } from './compaction-file.js';

/** Where a configuration may be written, each as parsed data with keys in snake_case. */
export interface CompactionConfigSources {
  /** The front matter of an agent's file, in which `features.compaction` counts. */
  readonly frontMatter?: unknown;
  /** What `compaction.yaml` holds, for all agents. */
  readonly file?: unknown;
  /** What a program says where no file does. */
  readonly defaults?: unknown;
}

type Layer = Readonly<Record<string, unknown>>;

/** Keys that say the same in different ways: whoever writes one of them says nothing about the others any more. */
const ALTERNATIVES = [
  ['threshold', 'budget_percent'],
  ['prompt', 'agent', 'summary_prompt', 'summarizer'],
  ['memory_tiers', 'keep_messages', 'keep_tokens'],
] as const;

/**
 * The configuration of one agent: what its front matter says, key by key before what `compaction.yaml` says, before what the
 * program says, before the built-in defaults. The stages (`previewArgs`, `truncate_args`, …) are merged key by key too; 0 and
 * `false` count as said.
 *
 * @throws {InvalidInputError} naming every unknown key and every combination that cannot work, in snake_case.
 */
export function resolveCompactionConfig({
  frontMatter,
  file,
  defaults,
}: CompactionConfigSources): ParsedCompactionConfig {
  const features = field(frontMatter, 'features', 'front matter');
  const nearestFirst = [field(features, 'compaction', 'features'), file, defaults];
  const layers = nearestFirst.map((layer) => asLayer(configOf(layer), 'compaction configuration'));
  return parseCompactionConfig(layers.reduceRight(merged, {}));
}

/** What `near` says, and what `far` says of all else. */
function merged(far: Layer, near: Layer): Layer {
  const silenced = new Set<string>(
    ALTERNATIVES.filter((keys) => keys.some((key) => Object.hasOwn(near, key))).flat(),
  );
  const result: Record<string, unknown> = Object.fromEntries(
    Object.entries(far).filter(([key]) => !silenced.has(key)),
  );
  for (const [key, value] of Object.entries(near)) {
    const other = result[key];
    result[key] = isLayer(value) && isLayer(other) ? { ...other, ...value } : value;
  }
  return result;
}

function field(value: unknown, key: string, subject: string): unknown {
  return asLayer(value, subject)[key];
}

function asLayer(value: unknown, subject: string): Layer {
  if (value === undefined || value === null) return {};
  if (isLayer(value)) return value;
  throw new InvalidInputError(subject, [{ path: '', message: 'must be an object' }]);
}

function isLayer(value: unknown): value is Layer {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
