import { InvalidInputError, isObject, parseWith } from '@x/core';
import * as z from 'zod';

type Keys = Readonly<Record<string, unknown>>;

/** Aura's providers that speak the Chat Completions protocol. */
const COMPATIBLE = ['ollama', 'llamacpp', 'openrouter'];

const modelSchema = z.strictObject({
  provider: z.string().min(1),
  name: z.string().min(1),
  /** In tokens. */
  context: z.int().min(1).optional(),
  think: z.unknown().optional(),
  generation: z
    .looseObject({ temperature: z.unknown().optional(), max_output_tokens: z.unknown().optional() })
    .optional(),
});

const names = z.array(z.string().min(1)).default([]);
const toolsSchema = z.strictObject({
  enabled: names,
  disabled: names,
  policy: z.strictObject({ auto: names, confirm: names, deny: names }).prefault({}),
});

/** Aura's tools, and those that do the same here. */
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  Bash: ['execute'],
  Read: ['read_file'],
  Write: ['write_file'],
  Edit: ['edit_file'],
  Glob: ['glob_files'],
  Ls: ['list_files'],
  Rg: ['grep_files'],
  Task: ['agent_spawn'],
  TodoCreate: ['todo_write'],
  TodoProgress: ['todo_write'],
  MemoryRead: ['memory_search', 'memory_get'],
  MemoryWrite: ['memory_save', 'memory_correct', 'memory_forget'],
  Skill: ['load_skill'],
  ...Object.fromEntries(
    [
      ...[
        'Ask',
        'Mkdir',
        'Patch',
        'WebFetch',
        'WebSearch',
        'TodoList',
        'Vision',
        'Transcribe',
        'Speak',
        'Batch',
      ],
      ...['LoadTools', 'Tokens', 'Diagnostics', 'LspRestart', 'Query', 'Done'],
    ].map((name) => [name, []]),
  ),
};

/** Aura's keys of an agent that limit nothing here. */
const HARMLESS = ['thinking', 'hide', 'default', 'subagent', 'agentsmd'];
/** The same of `features`. */
const HARMLESS_FEATURES = ['title', 'thinking', 'vision', 'embeddings', 'stt', 'tts', 'estimation'];

/** Keys as they are written here, and those that nothing takes. */
export interface FromAura {
  readonly known: Keys;
  readonly ignored: readonly string[];
}

/**
 * Reads a model as Aura writes it, `{ provider, name, context }`. Any other stays as it is.
 *
 * @throws {InvalidInputError} naming every bad key.
 */
export function modelFromAura(model: unknown, file: string): FromAura & { readonly model: unknown } {
  if (!isObject(model) || !Object.hasOwn(model, 'provider')) return { model, known: {}, ignored: [] };
  const {
    provider,
    name,
    context,
    think,
    generation = {},
  } = parseWith(z.strictObject({ model: modelSchema }), { model }, file).model;
  const id = `${COMPATIBLE.includes(provider) ? 'compatible' : provider}:${name}`;
  const { temperature, max_output_tokens, ...others } = generation;
  return {
    model: context === undefined ? id : { id, context_window: context },
    known: {
      ...(temperature === undefined ? {} : { temperature }),
      ...(max_output_tokens === undefined ? {} : { max_output_tokens }),
    },
    ignored: [
      ...(think === undefined ? [] : ['model.think']),
      ...Object.keys(others).map((key) => `model.generation.${key}`),
    ],
  };
}

/**
 * Renames the keys of an agent's file of Aura, and leaves out those that nothing takes and that do no harm. What limits
 * the agent there limits it here, or is refused.
 *
 * @param file Names the file in errors.
 * @throws {InvalidInputError} for what limits and has no counterpart, and for two keys that mean the same.
 */
export function agentFromAura(data: Keys, file: string): FromAura {
  const { model, tools, hooks, features, ...rest } = data;
  const written = Object.fromEntries(Object.entries(rest).filter(([key]) => !HARMLESS.includes(key)));
  const ignored = HARMLESS.filter((key) => rest[key]);
  const chosen = modelFromAura(model, file);
  const named = featuresFromAura(features);
  const settings = { ...chosen.known, ...named.settings };
  for (const key of Object.keys(settings)) {
    if (!Object.hasOwn(written, key)) continue;
    throw new InvalidInputError(file, [{ path: key, message: 'is given already, by a key of Aura' }]);
  }
  const limits = isObject(tools) ? rulesFromAura(tools, file) : { rules: {}, ignored: [] };
  const areHooks = isObject(hooks) && Object.keys(hooks).every((key) => /^(?:en|dis)abled$/.test(key));
  return {
    known: {
      ...written,
      ...settings,
      ...(model === undefined ? {} : { model: chosen.model }),
      ...(features === undefined ? {} : { features: named.features }),
      ...(tools === undefined || isObject(tools) ? {} : { tools }),
      ...(hooks === undefined || areHooks ? {} : { hooks }),
      ...permissionsWith(written.permissions, limits.rules),
    },
    ignored: [
      ...ignored,
      ...(areHooks ? ['hooks'] : []),
      ...chosen.ignored,
      ...named.ignored,
      ...limits.ignored,
    ],
  };
}

/** Takes Aura's features that are no capabilities here: the limit of steps is a setting. */
function featuresFromAura(features: unknown): {
  readonly features: unknown;
  readonly settings: Keys;
  readonly ignored: readonly string[];
} {
  if (!isObject(features)) return { features, settings: {}, ignored: [] };
  const { tools, ...others } = features as Keys;
  const { max_steps, ...limits } = isObject(tools) ? (tools as Keys) : {};
  const isSteps = max_steps !== undefined && Object.keys(limits).length === 0;
  return {
    features: {
      ...Object.fromEntries(Object.entries(others).filter(([key]) => !HARMLESS_FEATURES.includes(key))),
      ...(tools === undefined || isSteps ? {} : { tools }),
    },
    settings: isSteps ? { max_iterations: max_steps } : {},
    ignored: HARMLESS_FEATURES.filter((key) => Object.hasOwn(others, key)).map((key) => `features.${key}`),
  };
}

interface Rule {
  readonly tool: string;
  readonly match?: string;
}
type Rules = Readonly<Partial<Record<'deny' | 'ask', readonly Rule[]>>>;

/** Maps what Aura's `tools` forbids and has confirmed onto rules. What it allows unasked is asked for here. */
function rulesFromAura(
  tools: object,
  file: string,
): { readonly rules: Rules; readonly ignored: readonly string[] } {
  const { enabled, disabled, policy } = parseWith(
    z.strictObject({ tools: toolsSchema }),
    { tools },
    file,
  ).tools;
  if (enabled.length > 0 && !enabled.includes('*')) {
    const message = 'cannot name the tools that stay; leave it out, and name the others in disabled';
    throw new InvalidInputError(file, [{ path: 'tools.enabled', message }]);
  }
  const rules = (list: readonly string[], path: string) =>
    list.flatMap((pattern, index) => rulesOf(pattern, `${path}[${index}]`, file));
  const deny = [...rules(disabled, 'tools.disabled'), ...rules(policy.deny, 'tools.policy.deny')];
  const ask = rules(policy.confirm, 'tools.policy.confirm');
  return {
    rules: { ...(deny.length > 0 ? { deny } : {}), ...(ask.length > 0 ? { ask } : {}) },
    ignored: policy.auto.length > 0 ? ['tools.policy.auto'] : [],
  };
}

/** Reads `Tool`, a pattern of names, or `Bash:command*`. */
function rulesOf(pattern: string, path: string, file: string): readonly Rule[] {
  const [name = '', ...rest] = pattern.split(':');
  const match = rest.join(':');
  if (match !== '' && name === 'Bash') return [{ tool: 'execute', match }];
  if (match === '' && name.startsWith('mcp__')) return [{ tool: name }];
  if (match === '' && name === '*') return [{ tool: '*' }];
  const wanted = new RegExp(`^${name.replace(/[^\w*]/g, '\\$&').replaceAll('*', '.*')}$`);
  const found = Object.keys(TOOLS).filter((tool) => wanted.test(tool));
  if (match !== '' || found.length === 0) {
    const message = `"${pattern}" has no counterpart here; write a rule in permissions`;
    throw new InvalidInputError(file, [{ path, message }]);
  }
  return [...new Set(found.flatMap((tool) => TOOLS[tool] ?? []))].map((tool) => ({ tool }));
}

/** Adds rules to the permissions of a file. */
function permissionsWith(permissions: unknown, rules: Rules): Keys {
  if (Object.keys(rules).length === 0) return {};
  const own = Object(permissions ?? {}) as Keys;
  const added = Object.entries(rules).map(([list, more]) => [list, [own[list] ?? [], more].flat()]);
  return { permissions: { ...own, ...Object.fromEntries(added) } };
}
