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

/** A part by name, with an optional configuration. */
export type PartReference = string | { readonly ref: string; readonly config?: unknown };

const reference = z.union([
  partName,
  z.strictObject({
    ref: partName,
    /** The configuration of the part. The part validates it. */
    config: z.unknown().optional(),
  }),
]);

/** A model as a file describes it. */
export interface ModelReference {
  /** Model id as the program knows it, for example `openai:gpt-5`. */
  readonly id: string;
  /** Context window in tokens, for models that the program does not know. */
  readonly contextWindow?: number | undefined;
  /** `auto` uses the provider's own compaction if it has one. */
  readonly nativeCompaction?: 'auto' | 'off' | undefined;
}

const model = z.union(
  [
    partName.transform((id): ModelReference => ({ id })),
    z.strictObject({
      id: partName,
      contextWindow: z.int().min(1).optional(),
      /** `auto` uses the provider's own compaction if it has one. Default `off`. */
      nativeCompaction: z.enum(['auto', 'off']).optional(),
    }),
  ],
  {
    error: ({ input }) => (input === undefined ? 'is missing; for example: openai:gpt-5' : undefined),
  },
);

const { name: agentName, systemPrompt, isolation, ...settings } = settingsSchema.shape;

/** Keys, in addition to settings, that an agent's file and the subagents in it share. */
const shape = {
  /** Description for people, and for agents that choose a subagent. */
  description: z.string().optional(),
  systemPrompt,
  /** Fallback models, tried in this order if the model fails permanently. */
  fallback: z.array(model).optional(),
  /** Names of the tools to keep, out of all tools of its capabilities; a name may end in `*`. Default: all. */
  tools: z.union([z.string().transform(splitNames), narrowingShape.tools.unwrap()]).optional(),
  /** Rules that deny calls even if `permissions` allows them: `execute(rm *)`. */
  deny: narrowingShape.deny,
  capabilities: z.array(reference).default([]),
  /** Capabilities by name: `true` or a configuration adds one, as in `capabilities`; `false` leaves it out. */
  features: z.record(z.string(), z.unknown()).default({}),
  /** The same as the capability `permissions`, ahead of all others. */
  permissions: z.unknown().optional(),
};

const schema = z.strictObject({
  /** Schema reference for editors. */
  $schema: z.string().optional(),
  name: agentName,
  model,
  ...shape,
  ...settings,
  isolation,
  /** A directory, relative to the file, or a workspace by reference. Default `./workspace`. */
  workspace: reference.optional(),
  /** A session store by reference or address. Default: the store that the program opens. */
  session: reference.optional(),
  /** The same as the capability `hooks`. Wraps all other capabilities except `permissions`. */
  hooks: z.unknown().optional(),
  /** The same as the capability `subagents`. */
  subagents: z.unknown().optional(),
  /** MCP servers by name; the same as `servers` of the capability `mcp`. */
  mcpServers: z.unknown().optional(),
});

const { name, description, without, hidden } = definitionSchema.shape;

/**
 * A subagent in `definitions` of an agent's file. Keys that it omits default to the agent's, or to those for all
 * subagents.
 */
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
 * Parses a model as files describe it: `openai:gpt-5`, or `{ id, context_window, native_compaction }`.
 *
 * @param subject Name of the file for errors.
 * @throws {InvalidInputError} naming every bad key.
 */
export function parseModelReference(value: unknown, subject: string): ModelReference {
  return parseFileConfig(z.strictObject({ model }), { model: value }, subject).model;
}

/** A capability that a file refers to. */
export interface PlacedCapability {
  readonly ref: string;
  readonly config?: unknown;
  /** Its location in the file. */
  readonly place: CapabilityPlace;
}

/** The parsed keys that agents and subagents share. */
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
  /** Values for `${NAME}`. Default `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Parses the configuration of an agent from the content of a JSON or YAML file: keys in snake_case, `${NAME}` for
 * environment variables. Capabilities validate their own configuration when the agent is created.
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
 * Parses a subagent in `definitions` of an agent's file.
 *
 * @throws {InvalidInputError} naming the path of every bad key, with the reason if only an agent accepts the key.
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

/**
 * Substitutes environment variables except in `mcp_servers`. The capability substitutes those itself, so that it knows
 * which values to hide.
 */
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
 * Returns the JSON Schema of an agent's file, for editors.
 *
 * @param capabilities Schemas of the capabilities' configurations, by the names that files use; `undefined` for a capability that
 *   has no configuration.
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

/** Returns the JSON Schema of a subagent in `definitions`. */
export function memberJsonSchema(capabilities: Schemas = {}): JsonObject {
  const own = Object.entries(capabilities).filter(([name]) => notOfMembers(name) === undefined);
  return withProperties(fileJsonSchema(memberSchema), capabilityKeys(Object.fromEntries(own)));
}

/** Returns the schemas of the keys that contain capabilities. */
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

/** Returns a JSON Schema in which the known properties are replaced. */
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
