import { compactionJsonSchema, createCompactionFactories, evictionJsonSchema } from '@x/compaction';
import type { FileCapability, JsonObject } from '@x/core';
import { agentJsonSchema, CapabilityRegistry, harnessCapabilities } from '@x/harness';
import { mcpCapability } from '@x/harness/mcp';
import { memoryCapabilities } from '@x/memory';

type Environment = Readonly<Record<string, string | undefined>>;

/** By name, what files can name. `compaction` is what `compaction.yaml` says for all of them. */
function fileCapabilities(
  environment: Environment,
  { registry, compaction }: { readonly registry?: CapabilityRegistry; readonly compaction?: unknown } = {},
): Readonly<Record<string, FileCapability>> {
  const reducing = createCompactionFactories({ defaultModel: 'own', file: compaction });
  return {
    compaction: { create: reducing.compaction, jsonSchema: compactionJsonSchema },
    tool_result_eviction: { create: reducing.tool_result_eviction, jsonSchema: evictionJsonSchema },
    ...memoryCapabilities,
    ...harnessCapabilities(registry === undefined ? {} : { subagents: { registry } }),
    mcp: mcpCapability({ environment }),
  };
}

/**
 * The capabilities that files can name; subagents can be given the same ones.
 *
 * @param compaction What `compaction.yaml` says, for every agent that says nothing else.
 */
export function createRegistry(
  environment: Environment = process.env,
  compaction?: unknown,
): CapabilityRegistry {
  const registry = new CapabilityRegistry();
  for (const [name, { create }] of Object.entries(fileCapabilities(environment, { registry, compaction }))) {
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
