import { InvalidInputError, isObject, type JsonObject, jsonObjectSchema, toSnakeCase } from '@x/core';
import { ownSettingsSchema } from '../agent/agent-parts.js';

/** Keys of other systems that mean one of ours. */
const ALIASES: Readonly<Record<string, string>> = {
  steps: 'max_iterations',
  max_iters: 'max_iterations',
  maxIters: 'max_iterations',
  max_turns: 'max_iterations',
  maxTurns: 'max_iterations',
  hide: 'hidden',
};

/** Modes of a subagent in other systems. */
const MODES: readonly unknown[] = [undefined, null, 'subagent', 'all', 'primary'];

/** Keys of other systems that limit nothing, in either spelling. Left out, any other word could leave a subagent more than its author meant. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...[
    'mode',
    'workspace',
    'top_p',
    'top_k',
    'seed',
    'hidden',
    'expose_to_user',
    'enable_pending_tool_recovery',
  ],
  ...['id', 'title', 'display_name', 'color', 'icon', 'version', 'author', 'license', 'homepage', 'category'],
  ...['tags', 'keywords', 'examples', 'metadata', 'argument_hint', 'argument-hint'],
]);

const FOREIGN_KEYS = `^(?:${[...HARMLESS, ...Object.keys(ALIASES)]
  .join('|')
  .replaceAll(/_([a-z])/g, (_, letter: string) => `(?:_${letter}|${letter.toUpperCase()})`)})$`;

/** Has the JSON Schema of an agent let such keys stand, in either spelling, and AgentScope's workspace. Editors do not propose them. */
export function withForeignKeys(schema: object): JsonObject {
  const json = jsonObjectSchema.parse(schema);
  const { workspace, ...properties } = jsonObjectSchema.parse(json.properties);
  const theirs = { type: 'object', properties: { mode: {}, path: {} }, additionalProperties: false };
  const either = workspace === undefined ? {} : { workspace: { anyOf: [workspace, theirs] } };
  return { ...json, properties: { ...properties, ...either }, patternProperties: { [FOREIGN_KEYS]: {} } };
}

const OF_AGENT = 'write it in the file of the agent';
const FROM_PARENT = 'a subagent has those of its parent';

/** Keys of an agent that no subagent takes: why, and where they go. */
const NOT_IN_DEFINITIONS: Readonly<Record<string, string>> = {
  hooks: `those of its parent run for a subagent too: ${OF_AGENT}`,
  mcp_servers: `${FROM_PARENT}, with their connections: ${OF_AGENT}, and name its tools in tools`,
  subagents: `${FROM_PARENT}: ${OF_AGENT}`,
  session: `${FROM_PARENT}: ${OF_AGENT}`,
  isolation: `${FROM_PARENT}: ${OF_AGENT}`,
};

const OF_OPERATOR = [
  ...['features', 'capabilities', 'permissions', 'fallback', 'without'],
  ...Object.keys(ownSettingsSchema.shape).map(toSnakeCase),
];
const NARROWS = 'a file of the workspace only narrows: write it in definitions of the agent’s file';

/** By the kind of agent, the keys that other kinds take: why this one does not, and where they go. */
const REASONS: Readonly<Record<'agent' | 'definition' | 'file', Readonly<Record<string, string>>>> = {
  agent: { without: 'leave the capability out' },
  definition: NOT_IN_DEFINITIONS,
  file: { ...Object.fromEntries(OF_OPERATOR.map((key) => [key, NARROWS])), ...NOT_IN_DEFINITIONS },
};

/** Says why a subagent has no capability of its own by this name. */
export function notOfMembers(capability: string): string | undefined {
  return NOT_IN_DEFINITIONS[capability === 'mcp' ? 'mcp_servers' : capability];
}

/** Says of refused keys that other kinds of agents take why, and where to write them. */
export function withReasons<Result>(kind: 'agent' | 'definition' | 'file', run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!InvalidInputError.isInstance(error)) throw error;
    const reasons = new Map(Object.entries(REASONS[kind]));
    const issues = error.issues.map(({ path, message }) => {
      const reason = message.startsWith('unknown key') ? reasons.get(path) : undefined;
      return { path, message: reason === undefined ? message : `unknown key here; ${reason}` };
    });
    throw new InvalidInputError(error.subject, issues, { cause: error.cause });
  }
}

type Keys = Readonly<Record<string, unknown>>;

/** Tells AgentScope's `workspace: { mode, path }` from a workspace of ours. */
function isForeignWorkspace(value: unknown): boolean {
  const keys = isObject(value) ? Object.keys(value) : [];
  return keys.length > 0 && keys.every((key) => key === 'mode' || key === 'path');
}

/**
 * Renames the keys of other systems that mean one of ours, and leaves out those that nothing takes and that do no harm.
 *
 * @param file Names the file in errors.
 * @param ours The keys that its reader knows, as files write them.
 * @throws {InvalidInputError} for two keys that mean the same: neither order nor luck may say which of them holds.
 */
export function withoutForeignKeys(
  data: Keys,
  file: string,
  ours: readonly string[],
): { readonly known: Keys; readonly ignored: readonly string[] } {
  const keys = Object.keys(data).map((path) => ({ path, name: ALIASES[path] ?? path }));
  const twice = keys.filter(({ name }, index) => keys.findIndex((key) => key.name === name) < index);
  if (twice.length > 0) {
    const issues = twice.map(({ path, name }) => ({
      path,
      message: `means ${name}, which is given already`,
    }));
    throw new InvalidInputError(file, issues);
  }
  const isIgnored = ({ path, name }: (typeof keys)[number]) =>
    ours.includes(name)
      ? name === 'workspace' && isForeignWorkspace(data[path])
      : HARMLESS.has(toSnakeCase(name));
  const known = keys.filter((key) => !isIgnored(key)).map(({ path, name }) => [name, data[path]]);
  return { known: Object.fromEntries(known), ignored: keys.filter(isIgnored).map(({ path }) => path) };
}

/**
 * Does the same for a subagent, whom `mode: primary` keeps from the model, as `hidden` does. Answers each thing to tell with
 * its key ahead of it.
 *
 * @throws {InvalidInputError} also for a mode that is not known: it may limit.
 */
export function withoutForeignSubagentKeys(
  data: Keys,
  file: string,
  ours: readonly string[],
): { readonly known: Keys; readonly told: readonly string[] } {
  const { mode, ...rest } = data;
  if (!MODES.includes(mode)) {
    throw new InvalidInputError(file, [{ path: 'mode', message: 'must be subagent, all or primary' }]);
  }
  const isPrimary = mode === 'primary';
  const { known, ignored } = withoutForeignKeys(isPrimary ? { ...rest, hidden: true } : data, file, ours);
  const kept = known.hidden === true ? [`${isPrimary ? 'mode' : 'hidden'}: the model cannot spawn it`] : [];
  return { known, told: [...ignored.map((key) => `${key}: unknown key, which does nothing`), ...kept] };
}
