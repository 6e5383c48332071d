import { type FileCapability, fileCapability } from '@x/core';
import { historyConfigSchema } from './history/history-config.js';
import { sessionHistory } from './history/session-history.js';
import { memory } from './memory/memory.js';
import { memoryConfigSchema } from './memory/memory-config.js';
import { workspaceContext } from './workspace-context/workspace-context.js';
import { workspaceContextConfigSchema } from './workspace-context/workspace-context-config.js';

/** The capabilities of this package by the names that files use, to be registered in a `CapabilityRegistry`. */
export const memoryCapabilities: Readonly<Record<string, FileCapability>> = {
  memory: fileCapability('memory', memoryConfigSchema, memory),
  session_history: fileCapability('session_history', historyConfigSchema, sessionHistory),
  workspace_context: fileCapability('workspace_context', workspaceContextConfigSchema, workspaceContext),
};
