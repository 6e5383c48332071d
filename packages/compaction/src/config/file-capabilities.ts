import { type Capability, parseFileConfig } from '@x/core';
import type { CompactionCapabilityConfig } from '../capability/capability-config.js';
import { compaction } from '../capability/compaction.js';
import { evictionConfigSchema, toolResultEviction } from '../eviction/tool-result-eviction.js';
import { type CompactionConfigSources, resolveCompactionConfig } from './resolve-compaction-config.js';
import { resolveSummarizer, type SummarizerSources } from './resolve-summarizer.js';

/** Tables of prompts and summarizers by name, and default values for keys that an agent's file omits. */
export interface CompactionFactoryOptions
  extends SummarizerSources,
    Omit<CompactionConfigSources, 'frontMatter' | 'onWarning'> {
  /** Hooks that run before and after each compaction. */
  readonly hooks?: Pick<CompactionCapabilityConfig, 'beforeCompaction' | 'afterCompaction'> | undefined;
}

/**
 * Makes capability factories under the names that agent files use. Register them in your table of capabilities. By default, the agent's
 * own model summarizes. An agent's file is merged key by key with `file` and `defaults`.
 *
 * @throws {InvalidInputError} naming the file and its invalid keys if `file` is invalid.
 */
export function createCompactionFactories(sources: CompactionFactoryOptions = { defaultModel: 'own' }) {
  const { file, fileName, defaults, onWarning, hooks } = sources;
  // Validate the shared configuration at once, so that its errors are not blamed on an agent's file.
  resolveCompactionConfig({ file, fileName, defaults });
  return {
    compaction(config: unknown): Capability {
      const frontMatter = { features: { compaction: config } };
      const parsed = resolveCompactionConfig({ frontMatter, file, fileName, defaults, onWarning });
      const { model, prompt } = resolveSummarizer(parsed, sources, parsed.options.preset);
      const written = { ...parsed.options, ...(model === undefined ? {} : { model }), ...hooks };
      if (prompt === undefined) return compaction(written);
      return written.preset === undefined
        ? compaction({ ...written, summary: { ...written.summary, prompt } })
        : compaction({ ...written, summaryPrompt: prompt });
    },
    tool_result_eviction(config: unknown): Capability {
      const subject = 'toolResultEviction configuration';
      return toolResultEviction(parseFileConfig(evictionConfigSchema, config ?? {}, subject));
    },
  };
}
