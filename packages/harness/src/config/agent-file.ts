import { InvalidInputError, type JsonObject, type JsonValue, parseFileConfig } from '@x/core';
import { fileJsonSchema, type Issue, isObject, jsonObjectSchema } from '@x/core/internal';
import * as z from 'zod';
import { type AgentSettings, ownSettingsSchema, settingsSchema } from '../agent/agent-parts.js';
import type { CapabilityPlace } from '../agent/capability-registry.js';
import { type Narrowing, narrowingShape } from '../capabilities/permissions/permissions.js';
import { definitionSchema, type SubagentDefinition } from '../capabilities/subagents/members.js';
import { notOfMembers, withReasons } from './refused-keys.js';
import { splitNames } from './subagent-files.js';
import { substituteEnvironment } from './substitute-environment.js';

const partName = z.string().min(1);

/** A part by name, with its configuration where it takes one. */
export type PartReference = string | { readonly ref: string; readonly config?: unknown };

const reference = z.union([
  partName,
  z.strictObject({
    ref: partName,
    /** The configuration of the part, which the part checks. */
    config: z.unknown().optional(),
  }),
]);

/** A model as the file names it. */
export interface ModelReference {
  /** As the program names models, for example `openai:gpt-5`. */
  readonly id: string;
  /** In tokens, where the program cannot know it. */
  readonly contextWindow?: number | undefined;
  /** `auto`: the provider's own compaction is used where it has one. */
  readonly nativeCompaction?: 'auto' | 'off' | undefined;
}

const model = z.union(
  [
    partName.transform((id): ModelReference => ({ id })),
    z.strictObject({
      id: partName,
      contextWindow: z.int().min(1).optional(),
      /** `auto`: the provider's own compaction is used where it has one. Default `off`. */
      nativeCompaction: z.enum(['auto', 'off']).optional(),
    }),
  ],
  {
    error: ({ input }) => (input === undefined ? 'is missing; for example: openai:gpt-5' : undefined),
  },
);

const { name: agentName, systemPrompt, isolation, ...settings } = settingsSchema.shape;

/** Keys that an agent of its own file and a subagent of that file both take, beside settings. */
const shape = {
  /** For people, and for an agent that chooses among subagents. */
  description: z.string().optional(),
  systemPrompt,
  /** Models that take over, in this order, when the model fails for good. */
  fallback: z.array(model).optional(),
  /** Names of the tools that it has, of all that its capabilities bring; a name may end in `*`. Default: all. */
  tools: z.union([z.string().transform(splitNames), narrowingShape.tools.unwrap()]).optional(),
  /** Rules that deny calls, whatever `permissions` allows: `execute(rm *)`. */
  deny: narrowingShape.deny,
  capabilities: z.array(reference).default([]),
  /** By the name of a capability: `true`, or its configuration; the same as in `capabilities`. `false`: none. */
  features: z.record(z.string(), z.unknown()).default({}),
  /** The same as the capability `permissions`, ahead of all others. */
  permissions: z.unknown().optional(),
};

const schema = z.strictObject({
  /** For editors. */
  $schema: z.string().optional(),
  name: agentName,
  model,
  ...shape,
  ...settings,
  isolation,
  /** A directory, relative to the file, or a workspace by reference. Default `./workspace`. */
  workspace: reference.optional(),
  /** A session store by reference or address; without one, what the program opens by default. */
  session: reference.optional(),
  /** The same as the capability `hooks`, around all others but `permissions`. */
  hooks: z.unknown().optional(),
  /** The same as the capability `subagents`. */
  subagents: z.unknown().optional(),
  /** By name, what the capability `mcp` calls `servers`. */
  mcpServers: z.unknown().optional(),
});

const { name, description, without, hidden } = definitionSchema.shape;

/** A subagent in `definitions` of an agent's file. What it leaves out is its agent's, or that of all subagents. */
const memberSchema = z.strictObject({
  ...shape,
  ...ownSettingsSchema.shape,
  name,
  description,
  model: model.optional(),
  without: without.unwrap().optional(),
  hidden: hidden.unwrap().optional(),
});

/**
 * Reads a model as files name it: `openai:gpt-5`, or `{ id, context_window, native_compaction }`.
 *
 * @param subject The file, for errors.
 * @throws {InvalidInputError} naming every bad key.
 */
export function parseModelReference(value: unknown, subject: string): ModelReference {
  return parseFileConfig(z.strictObject({ model }), { model: value }, subject).model;
}

/** A capability that a file names. */
export interface PlacedCapability {
  readonly ref: string;
  readonly config?: unknown;
  /** Where the file names it. */
  readonly place: CapabilityPlace;
}

/** What a file says of an agent, and of a subagent. */
export interface AgentKeys {
  readonly settings: Partial<AgentSettings>;
  readonly systemPrompt: string;
  readonly fallback: readonly ModelReference[] | undefined;
  readonly narrowing: Narrowing;
  readonly capabilities: readonly PlacedCapability[];
}

/** The parsed content of an agent's file. */
export interface AgentConfig extends AgentKeys {
  readonly fallback: readonly ModelReference[];
  readonly model: ModelReference;
  readonly workspace?: PartReference | undefined;
  readonly session?: PartReference | undefined;
}

export interface ParseAgentOptions {
  /** Values of `${NAME}`. Default `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Reads the configuration of an agent as JSON or YAML files hold it, once they are parsed: keys in snake_case,
 * `${NAME}` for environment variables. The configuration of capabilities is checked by those, when the agent is made.
 *
 * @throws {InvalidInputError} naming the path of every bad field and every variable that is not set.
 */
export function parseAgentConfig(value: unknown, options: ParseAgentOptions = {}): AgentConfig {
  const subject = 'agent configuration';
  const { environment = process.env } = options;
  const file = withReasons('agent', () =>
    parseFileConfig(schema, substituted(value, environment, subject), subject),
  );
  const servers = file.mcpServers === undefined ? undefined : { servers: file.mcpServers };
  const keys = agentKeys(file, Object.keys(settings), [
    ...named('permissions', file.permissions),
    ...named('hooks', file.hooks),
    ...listed(file),
    ...named('subagents', file.subagents),
    ...named('mcp', servers, { path: 'mcp_servers', config: 'mcp_servers', omitted: 'servers' }),
  ]);
  const { name, model, isolation, workspace, session } = file;
  const { systemPrompt } = keys;
  return {
    ...keys,
    fallback: keys.fallback ?? [],
    settings: { ...keys.settings, name, systemPrompt, isolation },
    model,
    workspace,
    session,
  };
}

type Written = z.output<z.ZodObject<typeof shape>>;

function agentKeys(
  { systemPrompt, tools, deny, fallback, ...file }: Written,
  settings: readonly string[],
  capabilities: readonly PlacedCapability[],
): AgentKeys {
  const given = Object.entries(file).filter(([key, value]) => settings.includes(key) && value !== undefined);
  return {
    settings: Object.fromEntries(given),
    systemPrompt,
    fallback,
    narrowing: { tools, deny },
    capabilities,
  };
}

/** Lists the capabilities in `capabilities` and `features`. */
function listed({ capabilities, features }: Written): readonly PlacedCapability[] {
  return [
    ...capabilities.map((reference, index) => {
      const path = `capabilities[${index}]`;
      const named = typeof reference === 'string' ? { ref: reference } : reference;
      return { ...named, place: { path, config: `${path}.config` } };
    }),
    ...Object.entries(features).flatMap(([ref, config]): PlacedCapability[] => {
      const path = `features.${ref}`;
      if (config === false) return [];
      return [{ ref, ...(config === true ? {} : { config }), place: { path, config: path } }];
    }),
  ];
}

/** A subagent in `definitions`, as the file describes it. */
export interface MemberConfig extends AgentKeys {
  readonly definition: Pick<SubagentDefinition, 'name' | 'description' | 'hidden' | 'without'>;
  readonly model: ModelReference | undefined;
}

/**
 * Reads a subagent in `definitions` of an agent's file.
 *
 * @throws {InvalidInputError} naming the path of every bad key, and why a subagent does not take one that an agent takes.
 */
export function parseMember(value: unknown, subject: string): MemberConfig {
  const file = withReasons('definition', () => parseFileConfig(memberSchema, value, subject));
  const { name, description, hidden, without = [], model, features } = file;
  const off = Object.keys(features).filter((ref) => features[ref] === false);
  const definition = { name, description, hidden, without: [...without, ...off] };
  const placed = [...named('permissions', file.permissions), ...listed(file)];
  const shared = placed.flatMap(({ ref, place }): readonly Issue[] => {
    const message = notOfMembers(ref);
    return message === undefined ? [] : [{ path: place.path, message }];
  });
  if (shared.length > 0) throw new InvalidInputError(subject, shared);
  const keys = agentKeys(file, Object.keys(ownSettingsSchema.shape), placed);
  return { ...keys, definition, model: model?.id === 'inherit' ? undefined : model };
}

/** Not in `mcp_servers`: the capability looks variables up itself, so that it knows which values to hide. */
function substituted(
  value: unknown,
  environment: NonNullable<ParseAgentOptions['environment']>,
  subject: string,
): unknown {
  if (typeof value !== 'object' || value === null || !('mcp_servers' in value)) {
    return substituteEnvironment(value, environment, subject);
  }
  const { mcp_servers: servers, ...rest } = value;
  return { ...(substituteEnvironment(rest, environment, subject) as object), mcp_servers: servers };
}

function named(
  ref: string,
  config: unknown,
  place: CapabilityPlace = { path: ref, config: ref },
): readonly PlacedCapability[] {
  return config === undefined ? [] : [{ ref, config, place }];
}

type Schemas = Readonly<Record<string, JsonObject | undefined>>;

/**
 * JSON Schema of an agent's file, for editors.
 *
 * @param capabilities Schemas of the configuration of capabilities, by the name that files use; `undefined` for one that
 *   takes none.
 */
export function agentJsonSchema(capabilities: Schemas = {}): JsonObject {
  const { hooks, subagents, mcp } = capabilities;
  const definitions = { type: 'array', items: memberJsonSchema(capabilities) };
  return withProperties(fileJsonSchema(schema), {
    ...capabilityKeys(capabilities),
    hooks,
    subagents: subagents && withProperties(subagents, { definitions }),
    mcp_servers: jsonObjectSchema.safeParse(mcp?.properties).data?.servers,
  });
}

/** The same of a subagent in `definitions`. */
export function memberJsonSchema(capabilities: Schemas = {}): JsonObject {
  const own = Object.entries(capabilities).filter(([name]) => notOfMembers(name) === undefined);
  return withProperties(fileJsonSchema(memberSchema), capabilityKeys(Object.fromEntries(own)));
}

/** Describes the keys that hold capabilities. */
function capabilityKeys(capabilities: Schemas): Readonly<Record<string, JsonValue | undefined>> {
  const names = Object.keys(capabilities);
  if (names.length === 0) return {};
  const configs = names.map((name) => [name, withoutDialect(capabilities[name] ?? {})] as const);
  const configured = configs.map(([ref, config]) => ({
    type: 'object',
    properties: { ref: { const: ref }, config },
    required: ['ref'],
    additionalProperties: false,
  }));
  return {
    permissions: capabilities.permissions,
    capabilities: { type: 'array', items: { anyOf: [{ enum: names }, ...configured] } },
    features: {
      type: 'object',
      properties: Object.fromEntries(
        configs.map(([name, config]) => [name, { anyOf: [{ type: 'boolean' }, config] }]),
      ),
      additionalProperties: false,
    },
  };
}

/** Describes properties again, those that are known. */
export function withProperties(
  json: JsonObject,
  known: Readonly<Record<string, JsonValue | undefined>>,
): JsonObject {
  const described = Object.entries(known).flatMap(([key, value]) =>
    isObject(value) ? [[key, withoutDialect(value)]] : [],
  );
  return {
    ...json,
    properties: { ...jsonObjectSchema.parse(json.properties), ...Object.fromEntries(described) },
  };
}

function withoutDialect({ $schema: _dialect, ...rest }: JsonObject): JsonObject {
  return rest;
}
