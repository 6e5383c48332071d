import { compactionFactories, compactionJsonSchema, evictionJsonSchema } from '@x/compaction';
import type { FileCapability, JsonObject } from '@x/core';
import { agentJsonSchema, CapabilityRegistry, harnessCapabilities } from '@x/harness';
import { mcpCapability } from '@x/harness/mcp';
import { memoryCapabilities } from '@x/memory';

type Environment = Readonly<Record<string, string | undefined>>;

/** By name, what files can name. */
function fileCapabilities(
  environment: Environment,
  registry?: CapabilityRegistry,
): Readonly<Record<string, FileCapability>> {
  const compaction = { compaction: compactionJsonSchema, tool_result_eviction: evictionJsonSchema };
  return {
    ...Object.fromEntries(
      Object.entries(compaction).map(([name, jsonSchema]): [string, FileCapability] => {
        const create = compactionFactories[name];
        if (create === undefined) throw new Error(`@x/compaction has no capability "${name}" for files.`);
        return [name, { create, jsonSchema }];
      }),
    ),
    ...memoryCapabilities,
    ...harnessCapabilities(registry === undefined ? {} : { subagents: { registry } }),
    mcp: mcpCapability({ environment }),
  };
}

/** The capabilities that files can name; subagents can be given the same ones. */
export function createRegistry(environment: Environment = process.env): CapabilityRegistry {
  const registry = new CapabilityRegistry();
  for (const [name, { create }] of Object.entries(fileCapabilities(environment, registry))) {
    registry.register(name, create);
  }
  return registry;
}

/** JSON Schema of an agent's file, with everything that its capabilities can be told. */
export function agentFileSchema(): JsonObject {
  const schemas = Object.entries(fileCapabilities({})).map(
    ([name, { jsonSchema }]) => [name, jsonSchema] as const,
  );
  return agentJsonSchema(Object.fromEntries(schemas));
}
