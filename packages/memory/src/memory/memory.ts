import { type Capability, parseWith, type SessionStore, type Workspace } from '@x/core';
import { MemoryIndex } from '../memory-index.js';
import { type MemoryConfig, memoryConfigSchema } from './memory-config.js';
import { memoryGetTool } from './memory-get-tool.js';
import { MemoryKeeper } from './memory-keeper.js';
import { memorySaveTool } from './memory-save-tool.js';
import { memorySearchTool } from './memory-search-tool.js';
import { memorySection } from './memory-section.js';

/**
 * Long-term memory in files of the workspace: `MEMORY.md` stands in the system prompt of every step, daily notes below
 * `memory/` can be searched and read. After each call, and before a compaction, what is worth remembering of the
 * conversation is added to the day's note, and notes are merged into MEMORY.md: in the background, which
 * `agent.close()` waits for. Each tenant, user and agent has its own memory, and sees no other.
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
  const keepers = new Map<Workspace, MemoryKeeper>();
  const keeperOf = (workspace: Workspace, store?: SessionStore) => {
    let keeper = keepers.get(workspace);
    if (keeper === undefined) {
      keeper = new MemoryKeeper({
        workspace,
        store,
        settings,
        openIndex: open,
        openedIndex: () => (typeof index === 'string' ? opened : Promise.resolve(index)),
      });
      keepers.set(workspace, keeper);
    }
    return keeper;
  };
  return {
    name: 'memory',
    tools: settings.tools
      ? [memorySearchTool(settings, open), memoryGetTool(settings), memorySaveTool(settings)]
      : [],
    install: ({ workspace, session }) => void keeperOf(workspace, session),
    system: (scope) => memorySection(scope, settings),
    observe(event, scope) {
      // By now all that was said is in the session's log.
      if (event.type === 'call.completed' || event.type === 'call.failed') {
        keeperOf(scope.workspace).flush(scope, 'turn');
      }
    },
    beforeReduction: (_, scope) => keeperOf(scope.workspace).flush(scope, 'compaction'),
    async close() {
      for (const keeper of keepers.values()) await keeper.close();
      keepers.clear();
      await opened?.then((own) => own.close());
      opened = undefined;
    },
  };
}
