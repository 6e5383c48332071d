import type { Issue } from '@x/core/internal';
import * as z from 'zod/mini';
import { mostTokensOf } from '../run/budget.js';
import { summaryShape } from '../summary/options.js';
import {
  codeShape,
  completeSchema,
  groupedShape,
  type PresetSettings,
  type ResolvedCompactionConfig,
  sharedShape,
} from './groups.js';
import { agentscopeNames, agentscopeShape, fromAgentscope } from './presets/agentscope.js';
import { auraNames, auraShape, fromAura, refuseInAura } from './presets/aura.js';
import { everrunsNames, everrunsShape, fromEverruns } from './presets/everruns.js';

/** The error if a summary would have neither a narrative nor a record. */
export const NOTHING_WRITTEN: Issue = {
  path: 'summary.record',
  message: 'is 0 and there is no model, so every summary would be empty. Set a model, or a record above 0',
};

/** Additional keys of every preset. The time limits mean the same as in the group `summary`. */
const waitShape = {
  /** The same as `summary.background`. */
  background: summaryShape.background,
  /** The same as `summary.wait_ms`. */
  waitMs: summaryShape.waitMs,
  /** The same as `summary.timeout_ms`. */
  timeoutMs: summaryShape.timeoutMs,
};
const presetShape = { ...sharedShape, ...waitShape };

/**
 * Makes the schema of a configuration as the user writes it, in groups or with the keys of a preset.
 *
 * @param common Keys that are the same with every preset.
 * @param grouped Keys that only the groups have.
 */
export function writtenSchema<Common extends z.core.$ZodShape, Grouped extends z.core.$ZodShape>(
  common: Common,
  grouped: Grouped,
) {
  return z.discriminatedUnion(
    'preset',
    [
      z.strictObject({ preset: z.optional(z.undefined()), ...groupedShape, ...grouped, ...common }),
      z.strictObject({ preset: z.literal('agentscope'), ...presetShape, ...agentscopeShape, ...common }),
      z.strictObject({ preset: z.literal('everruns'), ...presetShape, ...everrunsShape, ...common }),
      z.strictObject({ preset: z.literal('aura'), ...presetShape, ...auraShape, ...common }),
    ],
    {
      error: ({ code }) =>
        code === 'invalid_union'
          ? 'must be agentscope, everruns or aura; leave it out for the groups of this package'
          : undefined,
    },
  );
}

/** A written configuration with the defaults of each key. */
export type Written = z.output<ReturnType<typeof codeSchema<Record<never, never>>>>;

/** By preset: its keys, its mapping onto groups, and its names for the keys of the groups. */
export const PRESETS = {
  agentscope: { shape: agentscopeShape, map: fromAgentscope, names: agentscopeNames },
  everruns: { shape: everrunsShape, map: fromEverruns, names: everrunsNames },
  aura: { shape: auraShape, map: fromAura, names: auraNames },
};

/** Keys that mean the same with a preset and without. */
const SHARED: object = { ...sharedShape, ...codeShape.common, preset: true };

/** Fills in derived values, and maps the keys of a preset. The schema of the groups validates the result. */
function resolved(written: Written): ResolvedCompactionConfig {
  const { preset } = written;
  if (preset === undefined) return completeSchema.parse(pick(written, completeSchema.shape));
  const map: (written: never) => PresetSettings = PRESETS[preset].map;
  const { summary, ...mapped } = map(written as never);
  return completeSchema.parse({
    ...pick(written, SHARED),
    ...mapped,
    summary: { ...summary, ...pick(written, waitShape) },
  });
}

/** Returns only those keys of a value that the shape has. */
function pick(value: object, shape: object): object {
  return Object.fromEntries(Object.entries(value).filter(([key]) => Object.hasOwn(shape, key)));
}

/**
 * Rejects settings that would make a compaction due again at once, could never take effect, or contradict each other. Errors use the keys
 * that the user wrote.
 */
export function refuseContradictions(written: Written, context: z.core.$RefinementCtx): void {
  // An invalid configuration is not checked for contradictions.
  if (context.issues.length > 0) return;
  const refuse = (path: string, message: string) =>
    context.addIssue({ code: 'custom', path: path.split('.'), message });
  if (written.preset === 'aura') refuseInAura(written, refuse);
  const names: Readonly<Record<string, string>> = written.preset ? PRESETS[written.preset].names : {};
  const named = (path: string) => names[path] ?? path;
  for (const { path, message } of contradictionsIn(resolved(written), named)) refuse(named(path), message);
}

/**
 * Finds settings that would make a compaction due again at once, could never take effect, or contradict each other. Only checks keys that
 * the user wrote.
 *
 * @param named Returns the name of a key as the user writes it.
 */
function contradictionsIn(
  config: ResolvedCompactionConfig,
  named: (path: string) => string,
): readonly Issue[] {
  const { trigger, target, keep, summary, contextWindow, model } = config;
  const issues: Issue[] = [];
  /** Rejects a size that is not below another one. */
  const below = (path: string, size: number | undefined, otherPath: string, other: number | undefined) => {
    if (size === undefined || !other || size < other) return;
    issues.push({ path, message: `${size} must be below ${named(otherPath)} ${other}` });
  };
  below('keep.messages', keep.messages, 'trigger.messages', trigger.messages);
  below('keep.tokens', keep.tokens, 'trigger.tokens', trigger.tokens);
  below('keep.tokens', keep.tokens, 'contextWindow', contextWindow);
  if (typeof target === 'number') below('keep.share', keep.share, 'target', target);
  if (typeof target === 'object') {
    below('target.tokens', target.tokens, 'trigger.tokens', trigger.tokens);
    const due = contextWindow && trigger.share && Math.floor(contextWindow * trigger.share);
    below('target.tokens', target.tokens, 'the trigger point', due);
    below('keep.tokens', keep.tokens, 'target.tokens', target.tokens);
  }
  if (contextWindow !== undefined && (trigger.tokens ?? 0) > contextWindow) {
    const message = `${trigger.tokens} exceeds contextWindow ${contextWindow}`;
    issues.push({ path: 'trigger.tokens', message });
  }
  if (model !== null) return issues;
  for (const key of ['prompt', 'instructions'] as const) {
    if (summary[key] === undefined) continue;
    issues.push({ path: `summary.${key}`, message: 'is an instruction to a model, but model is null' });
  }
  if (summary.record === 0 && config.stages === undefined) {
    issues.push(NOTHING_WRITTEN);
  }
  return issues;
}

/** Rejects names of models and prompts, which only a file can contain, because code has no table for them. */
function refuseNames(written: Written, context: z.core.$RefinementCtx): void {
  const refuse = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
  const named = 'is a name, but only configuration files support names;';
  if (written.preset === 'everruns' && typeof written.summarization.model === 'string') {
    refuse(['summarization', 'model'], `${named} pass a Model as model`);
  }
  if (written.preset !== 'aura') return;
  if (written.agent != null) refuse(['agent'], `${named} pass a Model as model`);
  if (written.prompt != null) refuse(['prompt'], `${named} pass the text as summaryPrompt`);
}

/**
 * Finds a trigger above the model's window. Compaction is then due at the window's limit instead.
 *
 * @returns A warning, or `undefined`.
 */
export function triggerAbove(written: object, contextWindow: number | undefined): string | undefined {
  const { preset } = written as { readonly preset?: keyof typeof PRESETS };
  const names: Readonly<Record<string, string>> = preset ? PRESETS[preset].names : {};
  const key = names['trigger.tokens'] ?? 'trigger.tokens';
  const tokens = key.split('.').reduce<unknown>((value, name) => Object(value ?? {})[name], written);
  if (typeof tokens !== 'number' || contextWindow === undefined || tokens <= contextWindow) return undefined;
  const most = mostTokensOf(contextWindow);
  return (
    `${key} ${tokens} is above the context window ${contextWindow}, so compaction is due at ${most} tokens instead. ` +
    `Set a smaller ${key}, or set contextWindow if the model's window is larger.`
  );
}

function codeSchema<Extra extends z.core.$ZodShape>(extra: Extra) {
  return writtenSchema({ ...codeShape.common, ...extra }, codeShape.grouped);
}

type KeysOf<Union> = Union extends unknown ? keyof Union : never;

/** A union whose members forbid the keys that only other members have. A plain union would accept those keys. */
type Apart<Union, Keys extends PropertyKey = KeysOf<Union>> = Union extends unknown
  ? Union & { readonly [Key in Exclude<Keys, keyof Union>]?: never }
  : never;

/** The configuration without a preset, with the additional keys of a program. */
export type Grouped<Extra extends z.core.$ZodShape> = Extract<
  z.input<ReturnType<typeof codeSchema<Extra>>>,
  { readonly preset?: undefined }
>;
/** The configuration without a preset and without the keys of presets. */
export type WithoutPreset<Config> = Extract<Config, { readonly preset?: undefined }>;

/** Makes the schema of a configuration in code, with additional keys. */
export function configSchema<Extra extends z.core.$ZodShape>(extra: Extra) {
  type Config = Apart<z.input<ReturnType<typeof codeSchema<Extra>>>>;
  type Resolved = ResolvedCompactionConfig & z.output<z.ZodMiniObject<Extra>>;
  const schema = codeSchema(extra).check(
    z.superRefine((written, context) => {
      refuseNames(written as Written, context);
      refuseContradictions(written as Written, context);
    }),
  );
  const transformed = z.transform((written: z.output<typeof schema>) => ({
    ...pick(written, extra),
    ...resolved(written as Written),
  }));
  return z.pipe(schema, transformed) as unknown as z.ZodMiniType<Resolved, Config>;
}

/**
 * The schema of a compactor's options. Rejects unknown keys and combinations that cannot work, with the path and the reason. For a
 * trigger, 0 means off.
 */
export const compactionConfigSchema = configSchema({});

/** Options of `createCompactor`: groups of settings, or a preset with the keys of another system. */
export type CompactionConfig = z.input<typeof compactionConfigSchema>;
/** Options of `createCompactor` in groups, without a preset. */
export type CompactionSettings = Grouped<Record<never, never>>;
