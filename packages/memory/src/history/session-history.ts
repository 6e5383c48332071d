import { type Capability, parseWith } from '@x/core';
import { MemoryIndex } from '../memory-index.js';
import { historyConfigSchema, type SessionHistoryConfig } from './history-config.js';
import { queryHistoryTool, sessionSearchTool } from './search-tools.js';
import { sessionHistoryTool } from './session-history-tool.js';
import { sessionListTool } from './session-list-tool.js';

/**
 * Tools with which an agent reads the lossless logs of its sessions: what a compaction removed from this one, and what
 * was said in earlier ones. They see the sessions of the call's own tenant and user, and no others: of the own agent, and,
 * unless `otherAgents` is false, of another that is asked for by its `agentId`.
 *
 * @throws {InvalidInputError} for a malformed configuration.
 */
export function sessionHistory(config: SessionHistoryConfig = {}): Capability {
  const settings = parseWith(historyConfigSchema, config, 'sessionHistory configuration');
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
    name: 'session_history',
    tools: [
      sessionListTool(settings),
      sessionHistoryTool(settings),
      sessionSearchTool(settings, open),
      queryHistoryTool(settings, open),
    ],
    async close() {
      await opened?.then((own) => own.close());
      opened = undefined;
    },
  };
}
