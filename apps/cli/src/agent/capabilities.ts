import { resolve } from 'node:path';
import {
  compaction,
  compactionJsonSchema,
  createCompactionFactories,
  evictionJsonSchema,
} from '@x/compaction';
import {
  type CompactionFactoryOptions,
  infinityContextSchema,
  type SummarizerSources,
} from '@x/compaction/internal';
import type { Capability, JsonObject } from '@x/core';
import { type FileCapability, fileCapability, parseWith } from '@x/core/internal';
import { agentJsonSchema, CapabilityRegistry, type Hooks, harnessCapabilities, hooks } from '@x/harness';
import { hooksConfigSchema } from '@x/harness/internal';
import { mcpCapability } from '@x/harness/mcp';
import { memoryCapabilities } from '@x/memory';
import { chooseModel } from './choose-model.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** The additional files in an agent file's directory, which apply to all of its agents. */
export interface FolderFiles
  extends Pick<SummarizerSources, 'prompts' | 'agents' | 'models' | 'folder' | 'onWarning'> {
  /** The directory of the agent's file. */
  readonly directory?: string;
  /** The parsed content of the compaction file. */
  readonly compaction?: unknown;
  /** The name of the compaction file. */
  readonly compactionFile?: string;
  /** The capabilities in the agent file, with their configurations. */
  readonly named?: ReadonlyMap<string, unknown>;
}

/**
 * Returns the memory capabilities for an agent of one person: sessions without a user share one memory. Index paths are relative to the
 * agent file, because someone else may have put an index into the workspace.
 */
function memoryOfOnePerson(directory: string | undefined): Readonly<Record<string, FileCapability>> {
  return Object.fromEntries(
    ['memory', 'session_history'].map((name): [string, FileCapability] => {
      const capability = memoryCapabilities[name] as FileCapability;
      const create: FileCapability['create'] = (config) => {
        const { index, ...rest } = Object(config ?? {});
        const isPath = typeof index === 'string' && directory !== undefined;
        const place = index === undefined ? {} : { index: isPath ? resolve(directory, index) : index };
        return capability.create({ without_user: 'shared', ...rest, ...place });
      };
      return [name, { ...capability, create }];
    }),
  );
}

/**
 * Returns Everruns' capability `infinity_context`: a window on the conversation, and the tool `recall`, which reads older messages. If the
 * agent also has `compaction`, that capability does the reduction, with the window as another trigger.
 */
function infinityContext(named: ReadonlyMap<string, unknown>, around: CompactionHooks): FileCapability {
  return fileCapability('infinity_context', infinityContextSchema, (written) => {
    const infinityContext = parseWith(infinityContextSchema, written, 'infinity_context configuration');
    const window = {
      preset: 'everruns',
      strategy: 'infinity_context',
      infinityContext,
      ...around,
    } as const;
    return {
      ...(named.has('compaction') ? {} : compaction(window)),
      name: 'infinity_context',
    };
  });
}

type CompactionHooks = NonNullable<CompactionFactoryOptions['hooks']>;

/** Returns the capabilities that agent files can name, by name. */
function fileCapabilities(
  environment: Environment,
  { compaction: file, compactionFile: fileName, named = new Map(), directory, ...sources }: FolderFiles = {},
): Readonly<Record<string, FileCapability>> {
  // Set when the `hooks` capability is created, which may be later than `compaction`.
  let made: Hooks | undefined;
  const around: CompactionHooks = {
    beforeCompaction: async (input, scope) => made?.beforeCompaction(input, scope),
    afterCompaction: async (result, scope) => made?.afterCompaction(result, scope),
  };
  const factories = createCompactionFactories({
    ...sources,
    defaultModel: 'own',
    file,
    fileName,
    hooks: around,
  });
  const window = named.has('infinity_context')
    ? { infinity_context: named.get('infinity_context') ?? {} }
    : undefined;
  return {
    compaction: {
      create: (config) => factories.compaction(window ? { ...Object(config ?? {}), ...window } : config),
      jsonSchema: compactionJsonSchema,
    },
    infinity_context: infinityContext(named, around),
    hooks: fileCapability('hooks', hooksConfigSchema, (config) => {
      made = hooks(config, directory);
      return { name: 'hooks' };
    }),
    tool_result_eviction: { create: factories.tool_result_eviction, jsonSchema: evictionJsonSchema },
    ...memoryCapabilities,
    ...memoryOfOnePerson(directory),
    ...harnessCapabilities({ subagents: { model: (reference) => chooseModel(reference, environment) } }),
    mcp: mcpCapability({ environment }),
  };
}

interface RegistryOptions {
  /** Disables approval requests of permissions. Denials still apply. Default false. */
  readonly allowAll?: boolean;
  /** Receives each created capability by the name that files use. */
  readonly created?: Map<string, Capability>;
}

/** Returns a registry of the capabilities that agent files can name. */
export function createRegistry(
  environment: Environment = process.env,
  folderFiles: FolderFiles = {},
  { allowAll = false, created }: RegistryOptions = {},
): CapabilityRegistry {
  const registry = new CapabilityRegistry();
  for (const [name, { create }] of Object.entries(fileCapabilities(environment, folderFiles))) {
    const isBypassed = allowAll && name === 'permissions';
    const factory = (config: unknown) =>
      create(isBypassed ? { ...Object(config ?? {}), ask: [], mode: 'bypass' } : config);
    registry.register(name, async (config) => {
      const capability = await factory(config);
      created?.set(name, capability);
      return capability;
    });
  }
  return registry;
}

/** Returns the JSON Schema of an agent file, with the configuration of every capability. */
export function agentFileSchema(): JsonObject {
  const schemas = Object.entries(fileCapabilities({})).map(
    ([name, { jsonSchema }]) => [name, jsonSchema] as const,
  );
  return agentJsonSchema(Object.fromEntries(schemas));
}
