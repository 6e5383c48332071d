import { type FileCapability, fileCapability } from '@x/core';
import { historyConfigSchema, sessionHistory } from './history/session-history.js';
import { memory } from './memory/memory.js';
import { memoryConfigSchema } from './settings.js';
import { workspaceContext, workspaceContextConfigSchema } from './workspace-context.js';

/** The capabilities of this package by the names that files use, to be registered in a `CapabilityRegistry`. */
export const memoryCapabilities: Readonly<Record<string, FileCapability>> = {
  memory: fileCapability('memory', memoryConfigSchema, memory),
  session_history: fileCapability('session_history', historyConfigSchema, sessionHistory),
  workspace_context: fileCapability('workspace_context', workspaceContextConfigSchema, workspaceContext),
};
