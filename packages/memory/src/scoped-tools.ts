import { randomUUID } from 'node:crypto';
import {
  AgentState,
  InvalidInputError,
  type JsonObject,
  RuntimeContext,
  SessionKey,
  storageOf,
  type Tool,
  type ToolContext,
  type ToolOutputBlock,
  type Workspace,
} from '@x/core';
import { agentFiles, having, warn } from '@x/core/internal';
import { WorkspaceSessionLog } from '@x/core/node';
import * as z from 'zod';
import { memoryTools } from './memory/memory-tools.js';
import { scopePrefix } from './memory-scope.js';
import type { MemoryService } from './memory-service.js';
import { memoryScopeSchema, workspaceSchema } from './settings.js';

/** The owner of the memory and sessions that the tools use when another program calls them. A model cannot choose it. */
export const toolScopeSchema = memoryScopeSchema.extend({
  /** The session that `session_history` reads by default. Default `default`. */
  sessionId: z.string().min(1).default('default'),
});
export type ToolScope = z.input<typeof toolScopeSchema>;

export const scopedToolsShape = {
  /** A memory, whose tools are offered. It is maintained as in an agent. */
  memory: z.optional(having<MemoryService>('maintainIfDue', 'a MemoryService')),
  /** More tools, for example those of `sessionHistory()`. */
  tools: z.array(having<Tool>('definition', 'a tool created with defineTool')).default([]),
  /** The workspace with the files and sessions that the other tools see. Default: the memory's workspace. */
  workspace: z.optional(workspaceSchema),
} as const;

type ScopedToolsSettings = z.output<z.ZodObject<typeof scopedToolsShape>>;

/** Tools that all run for one tenant, user, agent and session. */
export interface ScopedTools {
  readonly tools: ReadonlyMap<string, Tool>;
  /** The files that a tool's result may refer to: those of the user and of the user's sessions. */
  readonly files: Workspace;
  /** @throws errors of the tool. */
  run(tool: Tool, input: JsonObject, signal: AbortSignal): Promise<readonly ToolOutputBlock[]>;
}

/** @throws {InvalidInputError} if there is no tool or no workspace, or if two tools have the same name. */
export function scopedTools(
  { memory, tools, workspace = memory?.workspace }: ScopedToolsSettings,
  scope: z.output<typeof toolScopeSchema>,
  options: string,
): ScopedTools {
  const own = memory === undefined ? [] : memoryTools(() => memory);
  const all = [...own, ...tools];
  const byName = new Map(all.map((tool) => [tool.definition.name, tool]));
  const refuse = (path: string, message: string) => new InvalidInputError(options, [{ path, message }]);
  if (all.length === 0) throw refuse('tools', 'must contain a tool if no memory is given');
  if (byName.size < all.length) throw refuse('tools', 'must have distinct names');
  if (workspace === undefined) throw refuse('workspace', 'must be given if no memory is given');
  const { agentId: _, ...identity } = scope;
  const storage = memory?.storage ?? storageOf(workspace);
  const key = SessionKey.of(scope);
  const files = agentFiles(key, { workspace, storage, isolation: 'user' });
  return {
    tools: byName,
    files,
    async run(tool, input, signal) {
      const limit = tool.timeoutMs ? AbortSignal.timeout(tool.timeoutMs) : undefined;
      const id = randomUUID();
      const context: ToolContext = {
        call: { type: 'tool_use', id, name: tool.definition.name, input },
        idempotencyKey: id,
        runtime: RuntimeContext.of(identity),
        state: AgentState.create(identity),
        workspace: files,
        storage,
        log: new WorkspaceSessionLog(storage, key),
        signal: limit === undefined ? signal : AbortSignal.any([signal, limit]),
      };
      const blocks = await tool.run(input, context);
      if (!tool.readOnly)
        void memory?.maintainIfDue(scopePrefix(scope)).then((failed) => failed && warn(failed));
      return blocks;
    },
  };
}
