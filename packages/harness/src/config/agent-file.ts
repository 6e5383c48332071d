import { type JsonObject, type JsonValue, parseFileConfig } from '@x/core';
import { fileJsonSchema, isObject, jsonObjectSchema } from '@x/core/internal';
import * as z from 'zod';
import { type AgentSettings, settingsSchema } from '../agent/agent-parts.js';
import type { CapabilityPlace } from '../agent/capability-registry.js';
import { type Narrowing, narrowingShape } from '../capabilities/permissions/permissions.js';
import { splitNames } from './subagent-files.js';
import { substituteEnvironment } from './substitute-environment.js';

const partName = z.string().min(1);

/** A part by name, with an optional configuration. */
export type PartReference = string | { readonly ref: string; readonly config?: unknown };

const reference = z.union([
  partName,
  z.strictObject({
    /** The name of the part, as the program knows it. */
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

/** A model: `openai:gpt-5`, or `{ id, context_window, native_compaction }`. */
export const modelSchema = z.union(
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

const schema = z.strictObject({
  /** Schema reference for editors. */
  $schema: z.string().optional(),
  ...settingsSchema.shape,
  /** `PROVIDER:MODEL`, or an object with the keys below. Required. */
  model: modelSchema,
  /** Description for people. The agent does not use it. */
  description: z.string().optional(),
  /** Fallback models, tried in this order if `model` fails permanently. */
  fallback: z.array(modelSchema).optional(),
  /** Names of the tools to keep, out of all tools of its capabilities; a name may end in `*`. Default: all. */
  tools: z.union([z.string().transform(splitNames), narrowingShape.tools.unwrap()]).optional(),
  /** Rules that deny calls even if `permissions` allows them: `execute(rm *)`. */
  deny: narrowingShape.deny,
  capabilities: z.array(reference).default([]),
  /** Capabilities by name: `true` or a configuration adds one, as in `capabilities`; `false` leaves it out. */
  features: z.record(z.string(), z.unknown()).default({}),
  /** The same as the capability `permissions`, ahead of all others. */
  permissions: z.unknown().optional(),
  /** A directory, relative to the file, or a workspace by reference. Default `./workspace`. */
  workspace: reference.optional(),
  /** A session store by reference or address. Default: the store that the program opens. */
  session: reference.optional(),
  /** The same as the capability `hooks`: commands to run before and after compactions. */
  hooks: z.unknown().optional(),
  /** The same as the capability `subagents`. */
  subagents: z.unknown().optional(),
  /** MCP servers by name; the same as `servers` of the capability `mcp`. */
  mcpServers: z.unknown().optional(),
});

/**
 * Parses a model as files describe it: `openai:gpt-5`, or `{ id, context_window, native_compaction }`.
 *
 * @param subject Name of the file for errors.
 * @throws {InvalidInputError} naming every bad key.
 */
export function parseModelReference(value: unknown, subject: string): ModelReference {
  return parseFileConfig(z.strictObject({ model: modelSchema }), { model: value }, subject).model;
}

/** A capability that a file refers to. */
export interface PlacedCapability {
  readonly ref: string;
  readonly config?: unknown;
  /** Its location in the file. */
  readonly place: CapabilityPlace;
}

/** The parsed content of an agent's file. */
export interface AgentConfig {
  /** Plain settings. Omitted ones have the defaults of the builder. */
  readonly settings: Partial<AgentSettings>;
  readonly model: ModelReference;
  /** Fallback models, in order. */
  readonly fallback: readonly ModelReference[];
  /** Restrictions from the keys `tools` and `deny`. */
  readonly narrowing: Narrowing;
  /** The capabilities in the order of the agent, outermost first. */
  readonly capabilities: readonly PlacedCapability[];
  /** A directory, or a workspace by name. Default: `./workspace`. */
  readonly workspace?: PartReference | undefined;
  /** A session store by name or address. Default: the store that the program opens. */
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
  const file = parseFileConfig(schema, substituted(value, environment, subject), subject);
  const servers = file.mcpServers === undefined ? undefined : { servers: file.mcpServers };
  const { model, fallback = [], tools, deny, workspace, session } = file;
  const given = Object.keys(settingsSchema.shape).flatMap((key) => {
    const value = file[key as keyof AgentSettings];
    return value === undefined ? [] : [[key, value] as const];
  });
  return {
    settings: Object.fromEntries(given),
    model,
    fallback,
    narrowing: { tools, deny },
    capabilities: [
      ...named('permissions', file.permissions),
      ...named('hooks', file.hooks),
      ...listed(file),
      ...named('subagents', file.subagents),
      ...named('mcp', servers, { path: 'mcp_servers', config: 'mcp_servers', omitted: 'servers' }),
    ],
    workspace,
    session,
  };
}

/** Lists the capabilities in `capabilities` and `features`. */
function listed({ capabilities, features }: z.output<typeof schema>): readonly PlacedCapability[] {
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
  return withProperties(fileJsonSchema(schema), {
    ...capabilityKeys(capabilities),
    hooks,
    subagents,
    mcp_servers: jsonObjectSchema.safeParse(mcp?.properties).data?.servers,
  });
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
function withProperties(
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
