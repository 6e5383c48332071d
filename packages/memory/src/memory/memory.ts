import { type Capability, parseWith } from '@x/core';
import { MemoryIndex } from '../memory-index.js';
import { type MemoryConfig, memoryConfigSchema } from './memory-config.js';
import { memoryGetTool } from './memory-get-tool.js';
import { memorySaveTool } from './memory-save-tool.js';
import { memorySearchTool } from './memory-search-tool.js';
import { memorySection } from './memory-section.js';

/**
 * Long-term memory in files of the workspace: `MEMORY.md` stands in the system prompt, daily notes below `memory/` can be
 * searched and read. Each tenant, user and agent has its own, and sees no other.
 *
 * @throws {InvalidInputError} for a malformed configuration.
 */
export function memory(config: MemoryConfig = {}): Capability {
  const settings = parseWith(memoryConfigSchema, config, 'memory configuration');
  const { index } = settings;
  let opened: Promise<MemoryIndex> | undefined;
  const open = async () => {
    if (typeof index !== 'string') return index;
    opened ??= MemoryIndex.open(index);
    // A failure must not stay: the next search tries again.
    opened.catch(() => {
      opened = undefined;
    });
    return opened;
  };
  return {
    name: 'memory',
    tools: [memorySearchTool(settings, open), memoryGetTool(settings), memorySaveTool()],
    system: (scope) => memorySection(scope, settings.maxPromptTokens),
    async close() {
      await opened?.then((own) => own.close());
      opened = undefined;
    },
  };
}
