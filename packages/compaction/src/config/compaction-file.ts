import { InvalidInputError, type JsonObject, parseFileConfig } from '@x/core';
import { fileJsonSchema, toSnakeCase } from '@x/core/internal';
import * as z from 'zod/mini';
import { agentShape } from '../capability/capability-config.js';
import { evictionConfigSchema } from '../eviction/tool-result-eviction.js';
import { PRESETS, refuseContradictions, type Written, writtenSchema } from './compaction-config.js';
import { dataShape } from './groups.js';

/** The schema of a configuration file, in camelCase. */
const compactionFileSchema = writtenSchema({ ...dataShape.common, ...agentShape }, dataShape.grouped).check(
  z.superRefine(({ model, ...written }, context) =>
    refuseContradictions({ ...written, ...(model === null ? { model } : {}) } as Written, context),
  ),
);

type FileOutput = z.output<typeof compactionFileSchema>;
type WithoutNames<Output> = Output extends unknown ? Omit<Output, 'model' | 'agent'> : never;

/** A parsed configuration file. */
export interface ParsedCompactionConfig {
  /** Options for `compaction`. Without the four keys that only an agent has, also for `createCompactor`. */
  readonly options: WithoutNames<FileOutput>;
  /** The name of a prompt. */
  readonly prompt?: string | undefined;
  /** The name of a dedicated summarizer, or several names: each is the fallback of the one before. `null`: no model summarizes. */
  readonly model?: string | readonly string[] | null | undefined;
  /** The summarizer that Aura's `agent` names, if neither `prompt` nor `model` is set. */
  readonly agent?: string | undefined;
}

/**
 * Reads the configuration of compaction from a parsed JSON or YAML file. Keys are in snake_case, at the top level, under
 * `compaction`, or as `{ ref: 'compaction', config }`. Fills in every default.
 *
 * @param subject Names the file in errors.
 * @throws {InvalidInputError} naming every unknown key and every combination that cannot work, in snake_case.
 */
export function parseCompactionConfig(
  value: unknown,
  subject = 'compaction configuration',
): ParsedCompactionConfig {
  return namesOf(parseFileConfig(compactionFileSchema, configOf(value, subject) ?? {}, subject));
}

/** Separates the names of prompts and models from the other options of a file. `resolveSummarizer` resolves the names. */
function namesOf({ model, ...written }: FileOutput): ParsedCompactionConfig {
  const data = written as WithoutNames<FileOutput>;
  if (data.preset === 'agentscope') return { options: data, model };
  if (data.preset === 'everruns') {
    const { model: named, ...summarization } = data.summarization;
    return {
      options: { ...data, summarization },
      model: model === undefined ? (named ?? undefined) : model,
    };
  }
  if (data.preset === 'aura') {
    const { prompt, agent, ...options } = data as typeof data & { agent?: string | null };
    // Aura's own files write "" for unset values.
    const isNamed = model !== undefined || prompt;
    return { options, model, prompt: prompt || undefined, agent: isNamed ? undefined : agent || undefined };
  }
  const { prompt, ...summary } = data.summary;
  // A prompt of one word is a name; a longer one is the text.
  const isName = prompt !== undefined && /^\S+$/.test(prompt);
  return { options: isName ? { ...data, summary } : data, prompt: isName ? prompt : undefined, model };
}

/** By preset: the keys that no other preset has, in snake_case. */
const OWN_KEYS = Object.entries(PRESETS).map(([preset, { shape }]) => {
  const others = Object.values(PRESETS).filter((other) => other.shape !== shape);
  const own = Object.keys(shape).filter((key) => !others.some((other) => Object.hasOwn(other.shape, key)));
  return [preset, own.map(toSnakeCase)] as const;
});

/**
 * Adds the preset to a configuration with the keys of another system. Each such key belongs to one preset only.
 *
 * @throws {InvalidInputError} for keys of two systems.
 */
function withPreset(config: unknown, subject: string): unknown {
  if (typeof config !== 'object' || config === null || Object.hasOwn(config, 'preset')) return config;
  const owned = OWN_KEYS.flatMap(([preset, own]) => {
    const keys = Object.keys(config).filter((key) => own.includes(key));
    return keys.length > 0 ? [{ preset, said: `${keys.join(', ')} of ${preset}` }] : [];
  });
  const [own, ...others] = owned;
  if (own === undefined) return config;
  if (others.length === 0) return { preset: own.preset, ...config };
  const message = `has keys of ${owned.length} presets: ${owned.map(({ said }) => said).join(', ')}. Use the keys of only one preset.`;
  throw new InvalidInputError(subject, [{ path: '', message }]);
}

/**
 * Returns the value of `config` or `compaction` if there is such a wrapper, else the value itself. Adds the preset of another system's
 * keys.
 *
 * @throws {InvalidInputError} if there are other keys next to the wrapper, and for keys of two systems.
 */
export function configOf(value: unknown, subject = 'compaction configuration'): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { ref, config, compaction, ...rest } = value as Readonly<Record<string, unknown>>;
  if (ref !== 'compaction' && compaction === undefined) return withPreset(value, subject);
  const issues = Object.keys(rest).map((path) => ({
    path,
    message: `unknown key; options belong under ${ref === 'compaction' ? 'config' : 'compaction'}`,
  }));
  if (issues.length > 0) throw new InvalidInputError(subject, issues);
  return withPreset(ref === 'compaction' ? config : compaction, subject);
}

/** JSON Schema of the `compaction` configuration in a file, for editors and for validation elsewhere. */
export const compactionJsonSchema: JsonObject = withoutNamedPresets(fileJsonSchema(compactionFileSchema));

/** Makes `preset` optional, because a file's keys identify its preset. */
function withoutNamedPresets({ oneOf, ...schema }: JsonObject): JsonObject {
  const forms = (oneOf as readonly JsonObject[]).map(({ required, ...form }) => ({
    ...form,
    required: (required as readonly string[] | undefined)?.filter((key) => key !== 'preset') ?? [],
  }));
  return { ...schema, anyOf: forms };
}

/** JSON Schema of the `tool_result_eviction` configuration in a file. */
export const evictionJsonSchema: JsonObject = fileJsonSchema(evictionConfigSchema);
