import { type Capability, parseFileConfig } from '@x/core';
import { compaction } from '../capability/compaction.js';
import { evictionConfigSchema } from '../eviction/eviction-config.js';
import { toolResultEviction } from '../eviction/tool-result-eviction.js';
import { parseCompactionConfig } from './compaction-file.js';
import { resolveSummarizer, type SummarizerSources } from './resolve-summarizer.js';

/** Makes a capability from the configuration in a file. */
export type FileCapabilityFactory = (config: unknown) => Capability;

/**
 * Factories by the names that files use, to be registered where capabilities are looked up. `sources` resolve the names
 * of prompts and summarisers; unless they say otherwise the agent's own model is the default.
 */
export function createCompactionFactories(sources: SummarizerSources = { defaultModel: 'own' }): {
  readonly [Name in 'compaction' | 'tool_result_eviction']: FileCapabilityFactory;
} {
  return {
    compaction(config) {
      const parsed = parseCompactionConfig(config ?? {});
      return compaction({ ...parsed.options, ...resolveSummarizer(parsed, sources) });
    },
    tool_result_eviction: (config) =>
      toolResultEviction(
        parseFileConfig(evictionConfigSchema, config ?? {}, 'toolResultEviction configuration'),
      ),
  };
}

/** {@link createCompactionFactories} for files that name no prompts and no summarisers. */
export const compactionFactories: Readonly<Record<string, FileCapabilityFactory>> =
  createCompactionFactories();
