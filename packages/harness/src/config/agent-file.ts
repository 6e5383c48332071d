import { type JsonObject, jsonObjectSchema, parseWith, toSnakeCase } from '@x/core';
import * as z from 'zod';
import { type AgentSettings, settingsSchema } from '../agent/agent-parts.js';
import type { CapabilityReference } from '../agent/capability-registry.js';
import { limitsSchema } from '../agent/limits.js';
import { withReasons } from './foreign-keys.js';
import { substituteEnvironment } from './substitute-environment.js';

const name = z.string().min(1);

/** A part by name, with its configuration where it takes one. */
export type PartReference = string | { readonly ref: string; readonly config?: unknown };

const reference = z.union([
  name,
  z.strictObject({
    ref: name,
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
    name.transform((id): ModelReference => ({ id })),
    z
      .strictObject({
        id: name,
        context_window: z.int().min(1).optional(),
        /** `auto`: the provider's own compaction is used where it has one. Default `off`. */
        native_compaction: z.enum(['auto', 'off']).optional(),
      })
      .transform(
        ({ id, context_window: contextWindow, native_compaction: nativeCompaction }): ModelReference => ({
          id,
          contextWindow,
          nativeCompaction,
        }),
      ),
  ],
  {
    error: ({ input }) => (input === undefined ? 'is missing; for example: openai:gpt-5' : undefined),
  },
);

const { name: agentName, systemPrompt, limits: _, ...settings } = settingsSchema.shape;

/** Settings as files write them. */
function asWritten(shape: Readonly<Record<string, z.ZodType>>): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(shape).map(([key, schema]) => [toSnakeCase(key), schema.optional()]),
  );
}

/** The settings that a file gives, by the names of the builder. */
function given(shape: object, file: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.keys(shape).flatMap((key) => {
      const setting = (file as Readonly<Record<string, unknown>>)[toSnakeCase(key)];
      return setting === undefined ? [] : [[key, setting]];
    }),
  );
}

const schema = z.strictObject({
  /** For editors. */
  $schema: z.string().optional(),
  name: agentName,
  /** For people, and for an agent that chooses among subagents. */
  description: z.string().optional(),
  system_prompt: systemPrompt,
  model,
  /** Models that take over, in this order, when the model fails for good. */
  fallback: z.array(model).default([]),
  /** A directory, relative to the file, or a workspace by reference. Default `./workspace`. */
  workspace: reference.optional(),
  /** A session store by reference or address; without one, what the program opens by default. */
  session: reference.optional(),
  capabilities: z.array(reference).default([]),
  /** By the name of a capability: `true`, or its configuration; the same as in `capabilities`. */
  features: z.record(z.string(), z.unknown()).default({}),
  /** The same as the capability `permissions`, ahead of all others. */
  permissions: z.unknown().optional(),
  /** The same as the capability `hooks`, around all others but `permissions`. */
  hooks: z.unknown().optional(),
  /** The same as the capability `subagents`. */
  subagents: z.unknown().optional(),
  /** By name, what the capability `mcp` calls `servers`. */
  mcp_servers: z.unknown().optional(),
  /** Milliseconds that each wait may take, such as `model_idle_ms`. */
  limits: z.strictObject(asWritten(limitsSchema.shape)).optional(),
  ...asWritten(settings),
});

/**
 * Reads a model as files name it: `openai:gpt-5`, or `{ id, context_window, native_compaction }`.
 *
 * @param subject The file, for errors.
 * @throws {InvalidInputError} naming every bad key.
 */
export function parseModelReference(value: unknown, subject: string): ModelReference {
  return parseWith(z.strictObject({ model }), { model: value }, subject).model;
}

/** The parsed content of an agent's file. */
export interface AgentConfig {
  readonly settings: Partial<AgentSettings>;
  readonly model: ModelReference;
  readonly fallback: readonly ModelReference[];
  readonly workspace?: PartReference | undefined;
  readonly session?: PartReference | undefined;
  readonly capabilities: readonly CapabilityReference[];
  /** Paths in the file, one for each capability. */
  readonly places: readonly CapabilityPlace[];
}

/** The paths of a capability in a file, for messages of errors. */
export interface CapabilityPlace {
  readonly path: string;
  /** The path of its configuration. */
  readonly config: string;
  /** The part of the configuration's own paths that the file leaves out. */
  readonly omitted?: string | undefined;
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
    parseWith(schema, substituted(value, environment, subject), subject),
  );
  const servers = file.mcp_servers === undefined ? undefined : { servers: file.mcp_servers };
  const placed: readonly PlacedCapability[] = [
    ...named('permissions', file.permissions, { path: 'permissions', config: 'permissions' }),
    ...named('hooks', file.hooks, { path: 'hooks', config: 'hooks' }),
    ...file.capabilities.map((reference, index) => {
      const path = `capabilities[${index}]`;
      return { reference, place: { path, config: `${path}.config` } };
    }),
    ...Object.entries(file.features).flatMap(([ref, config]): PlacedCapability[] => {
      const path = `features.${ref}`;
      const reference = config === true ? ref : { ref, config };
      return config === false ? [] : [{ reference, place: { path, config: path } }];
    }),
    ...named('subagents', file.subagents, { path: 'subagents', config: 'subagents' }),
    ...named('mcp', servers, { path: 'mcp_servers', config: 'mcp_servers', omitted: 'servers' }),
  ];
  return {
    settings: {
      ...given(settings, file),
      ...(file.limits === undefined ? {} : { limits: given(limitsSchema.shape, file.limits) }),
      name: file.name,
      systemPrompt: file.system_prompt,
    },
    model: file.model,
    fallback: file.fallback,
    workspace: file.workspace,
    session: file.session,
    capabilities: placed.map(({ reference }) => reference),
    places: placed.map(({ place }) => place),
  };
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

interface PlacedCapability {
  readonly reference: CapabilityReference;
  readonly place: CapabilityPlace;
}

function named(ref: string, config: unknown, place: CapabilityPlace): readonly PlacedCapability[] {
  return config === undefined ? [] : [{ reference: { ref, config }, place }];
}

/**
 * JSON Schema of an agent's file, for editors.
 *
 * @param capabilities Schemas of the configuration of capabilities, by the name that files use; `undefined` for one that
 *   takes none.
 */
export function agentJsonSchema(
  capabilities: Readonly<Record<string, JsonObject | undefined>> = {},
): JsonObject {
  const json = jsonObjectSchema.parse(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
  const names = Object.keys(capabilities);
  if (names.length === 0) return json;
  const configured = names.map((ref) => ({
    type: 'object',
    properties: { ref: { const: ref }, config: withoutDialect(capabilities[ref] ?? {}) },
    required: ['ref'],
    additionalProperties: false,
  }));
  const properties = jsonObjectSchema.parse(json.properties);
  const shorthand = {
    permissions: capabilities.permissions,
    hooks: capabilities.hooks,
    subagents: capabilities.subagents,
    mcp_servers: jsonObjectSchema.safeParse(capabilities.mcp?.properties).data?.servers,
  };
  return {
    ...json,
    properties: {
      ...properties,
      ...Object.fromEntries(
        Object.entries(shorthand).flatMap(([key, known]) =>
          known === undefined ? [] : [[key, withoutDialect(jsonObjectSchema.parse(known))]],
        ),
      ),
      capabilities: { type: 'array', items: { anyOf: [{ enum: names }, ...configured] } },
      features: {
        type: 'object',
        properties: Object.fromEntries(
          names.map((ref) => [
            ref,
            { anyOf: [{ type: 'boolean' }, withoutDialect(capabilities[ref] ?? {})] },
          ]),
        ),
        additionalProperties: false,
      },
    },
  };
}

function withoutDialect({ $schema: _dialect, ...rest }: JsonObject): JsonObject {
  return rest;
}
