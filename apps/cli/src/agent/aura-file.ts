import { InvalidInputError, isObject, type JsonObject, jsonObjectSchema, parseWith } from '@x/core';
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
};
/** Aura's tools that nothing here does. */
const WITHOUT =
  'Ask Mkdir Patch WebFetch WebSearch TodoList Vision Transcribe Speak Batch LoadTools Tokens Diagnostics LspRestart Query Done'.split(
    ' ',
  );
/** Tools whose rules may name a path. */
const OF_PATHS = ['Read', 'Write', 'Edit', 'Glob', 'Ls', 'Rg'];

/** Aura's keys of an agent that limit nothing here. */
const HARMLESS = ['thinking', 'hide', 'default', 'subagent', 'agentsmd'];
/** The same of `features`. */
const HARMLESS_FEATURES = ['title', 'thinking', 'vision', 'embeddings', 'stt', 'tts', 'estimation'];

/** Keys that have no counterpart here, where they say anything: what to write instead. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  inherit: 'write the keys of the agents that it names into this file',
  files: 'write their text into this file, or into AGENTS.md, which agents_files reads',
  response_format: 'a program gives the schema with the call',
};
const saysNothing = (value: unknown) =>
  value === null || value === '' || value === 'text' || (Array.isArray(value) && value.length === 0);

/** Adds what {@link agentFromAura} takes to the JSON Schema of an agent's file. */
export function withAuraSchema(json: JsonObject): JsonObject {
  const properties = jsonObjectSchema.parse(json.properties);
  const features = jsonObjectSchema.parse(properties.features);
  const only = (...keys: readonly string[]) => ({
    type: 'object',
    properties: Object.fromEntries(keys.map((key) => [key, {}])),
    additionalProperties: false,
  });
  const or = (key: string, other: object) => ({ [key]: { anyOf: [properties[key], other] } });
  const any = (keys: readonly string[]) => `^(?:${keys.join('|')})$`;
  return jsonObjectSchema.parse({
    ...json,
    properties: {
      ...properties,
      ...or('model', z.toJSONSchema(modelSchema, { io: 'input' })),
      ...or('tools', z.toJSONSchema(toolsSchema, { io: 'input' })),
      ...or('hooks', only('enabled', 'disabled')),
      features: {
        ...features,
        patternProperties: { [any(HARMLESS_FEATURES)]: {}, '^tools$': only('max_steps') },
      },
    },
    patternProperties: {
      ...jsonObjectSchema.parse(json.patternProperties),
      [any(['system', ...HARMLESS])]: {},
      [any(Object.keys(ELSEWHERE))]: { enum: [null, '', 'text', []] },
    },
  });
}

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
  const { model, tools, hooks, features, ...others } = data;
  const empty = Object.keys(ELSEWHERE).filter(
    (key) => Object.hasOwn(others, key) && saysNothing(others[key]),
  );
  const rest = Object.fromEntries(Object.entries(others).filter(([key]) => !empty.includes(key)));
  const issues = Object.entries(ELSEWHERE).flatMap(([path, remedy]) =>
    Object.hasOwn(rest, path) ? [{ path, message: `unknown key here; ${remedy}` }] : [],
  );
  if (issues.length > 0) throw new InvalidInputError(file, issues);
  const written = Object.fromEntries(Object.entries(rest).filter(([key]) => !HARMLESS.includes(key)));
  const ignored = HARMLESS.filter((key) => rest[key]);
  const chosen = modelFromAura(model, file);
  const named = featuresFromAura(features);
  const settings = { ...chosen.known, ...named.settings };
  for (const key of Object.keys(settings)) {
    if (!Object.hasOwn(written, key)) continue;
    throw new InvalidInputError(file, [{ path: key, message: 'is given already, by a key of Aura' }]);
  }
  const limits = isObject(tools) ? limitsFromAura(tools, file) : { tools, rules: {}, ignored: [] };
  const areHooks = isObject(hooks) && Object.keys(hooks).every((key) => /^(?:en|dis)abled$/.test(key));
  return {
    known: {
      ...written,
      ...settings,
      ...(model === undefined ? {} : { model: chosen.model }),
      ...(features === undefined ? {} : { features: named.features }),
      ...(limits.tools === undefined ? {} : { tools: limits.tools }),
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

/** Maps Aura's `tools` onto the tools that stay, and rules. What it allows unasked is asked for here. */
function limitsFromAura(
  given: object,
  file: string,
): {
  readonly tools: readonly string[] | undefined;
  readonly rules: Rules;
  readonly ignored: readonly string[];
} {
  const { tools } = parseWith(z.strictObject({ tools: toolsSchema }), { tools: given }, file);
  const { enabled, disabled, policy } = tools;
  const rules = (list: readonly string[], path: string) =>
    list.map((pattern, index) => rulesOf(pattern, `${path}[${index}]`, file));
  const kept = rules(enabled, 'tools.enabled');
  const part = enabled.findIndex((_, index) => kept[index]?.some(({ match }) => match !== undefined));
  if (part >= 0) {
    const message = `"${enabled[part]}" is a part of a tool; name the tool, and deny the rest in policy`;
    throw new InvalidInputError(file, [{ path: `tools.enabled[${part}]`, message }]);
  }
  const deny = [...rules(disabled, 'tools.disabled'), ...rules(policy.deny, 'tools.policy.deny')].flat();
  const ask = rules(policy.confirm, 'tools.policy.confirm').flat();
  const isAll = enabled.length === 0 || enabled.includes('*');
  return {
    tools: isAll ? undefined : [...new Set(kept.flat().map(({ tool }) => tool))],
    rules: { ...(deny.length > 0 ? { deny } : {}), ...(ask.length > 0 ? { ask } : {}) },
    ignored: [
      ...enabled.flatMap((name, index) => (kept[index]?.length === 0 ? [`tools.enabled: ${name}`] : [])),
      ...(policy.auto.length > 0 ? ['tools.policy.auto'] : []),
    ],
  };
}

/** Reads `Tool`, a pattern of names, `Bash:command*` or `Write:path`. */
function rulesOf(pattern: string, path: string, file: string): readonly Rule[] {
  const [name = '', ...rest] = pattern.split(':');
  const match = rest.join(':');
  if (match === '') {
    if (name.startsWith('mcp__') || name === '*') return [{ tool: name }];
    const wanted = new RegExp(`^${name.replace(/[^\w*]/g, '\\$&').replaceAll('*', '.*')}$`);
    const found = [...Object.keys(TOOLS), ...WITHOUT].filter((tool) => wanted.test(tool));
    const names = new Set(found.flatMap((tool) => TOOLS[tool] ?? []));
    if (found.length > 0) return [...names].map((tool) => ({ tool }));
  } else if (name === 'Bash') return [{ tool: 'execute', match }];
  else if (OF_PATHS.includes(name) && /^(?![/~]|.*\.\.)[^*?]*\**[^*?]*$/.test(match)) {
    // There a star goes beyond one name, here it does not.
    const deeper = match.replace(/\*+/, '*/**/*');
    const tools = TOOLS[name] ?? [];
    return tools.flatMap((tool) => [...new Set([match, deeper])].map((each) => ({ tool, match: each })));
  }
  const message = `"${pattern}" has no counterpart here; write a rule in permissions`;
  throw new InvalidInputError(file, [{ path, message }]);
}

/** Adds rules to the permissions of a file. */
function permissionsWith(permissions: unknown, rules: Rules): Keys {
  if (Object.keys(rules).length === 0) return {};
  const own = Object(permissions ?? {}) as Keys;
  const added = Object.entries(rules).map(([list, more]) => [list, [own[list] ?? [], more].flat()]);
  return { permissions: { ...own, ...Object.fromEntries(added) } };
}
