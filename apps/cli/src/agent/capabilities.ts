import {
  compactionJsonSchema,
  createCompactionFactories,
  evictionJsonSchema,
  type SummarizerSources,
} from '@x/compaction';
import type { FileCapability, JsonObject, Model } from '@x/core';
import { agentJsonSchema, CapabilityRegistry, harnessCapabilities } from '@x/harness';
import { mcpCapability } from '@x/harness/mcp';
import { memoryCapabilities } from '@x/memory';

type Environment = Readonly<Record<string, string | undefined>>;

/** What stands beside an agent's file, for all agents of the directory. */
export interface Beside
  extends Pick<SummarizerSources, 'prompts' | 'agents' | 'models' | 'folder' | 'onWarning'> {
  /** The content of `compaction.yaml`. */
  readonly compaction?: unknown;
  /** The name of that file. */
  readonly compactionFile?: string;
  /** The models that the agent's file names, which subagents may name too. */
  readonly subagentModels?: Readonly<Record<string, Model>>;
}

/** Who runs an agent in a terminal is one person: sessions without a user remember in common. */
const ofOnePerson = Object.fromEntries(
  ['memory', 'session_history'].map((name): [string, FileCapability] => {
    const capability = memoryCapabilities[name] as FileCapability;
    const create: FileCapability['create'] = (config) =>
      capability.create({ without_user: 'shared', ...Object(config ?? {}) });
    return [name, { ...capability, create }];
  }),
);

/** By name, what files can name. */
function fileCapabilities(
  environment: Environment,
  { compaction: file, compactionFile: fileName, subagentModels, ...named }: Beside = {},
): Readonly<Record<string, FileCapability>> {
  const reducing = createCompactionFactories({ ...named, defaultModel: 'own', file, fileName });
  return {
    compaction: { create: reducing.compaction, jsonSchema: compactionJsonSchema },
    tool_result_eviction: { create: reducing.tool_result_eviction, jsonSchema: evictionJsonSchema },
    ...memoryCapabilities,
    ...ofOnePerson,
    ...harnessCapabilities({
      ...(subagentModels === undefined ? {} : { subagents: { models: subagentModels } }),
      ...(named.onWarning === undefined ? {} : { onWarning: named.onWarning }),
    }),
    mcp: mcpCapability({ environment }),
  };
}

interface RegistryOptions {
  /** Lets permissions ask for nothing; what they deny stays denied. Default false. */
  readonly allowAll?: boolean;
  /** Hears the name of each capability that is made. */
  readonly made?: (name: string) => void;
}

/** The capabilities that files can name. */
export function createRegistry(
  environment: Environment = process.env,
  beside: Beside = {},
  { allowAll = false, made }: RegistryOptions = {},
): CapabilityRegistry {
  const registry = new CapabilityRegistry();
  for (const [name, { create }] of Object.entries(fileCapabilities(environment, beside))) {
    const isBypassed = allowAll && name === 'permissions';
    registry.register(name, (config) => {
      made?.(name);
      return create(isBypassed ? { ...Object(config ?? {}), ask: [], mode: 'bypass' } : config);
    });
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
