import type { Tool, Workspace } from '@x/core';
import * as z from 'zod';
import { MemoryService } from '../memory-service.js';

const id = z.string().min(1).optional();

/** Whose memory a server is for. Clients never say it. */
export const mcpScopeSchema = z.strictObject({
  tenantId: id,
  userId: id,
  agentId: id,
  /** The session that `query_history` searches. Default `mcp`. */
  sessionId: z.string().min(1).default('mcp'),
});
export type McpScope = z.input<typeof mcpScopeSchema>;

const workspaceSchema = z.custom<Workspace>(
  (value) => typeof value === 'object' && value !== null && 'read' in value && 'append' in value,
  'must be a Workspace',
);
const toolSchema = z.custom<Tool>(
  (value) => typeof value === 'object' && value !== null && 'definition' in value && 'run' in value,
  'must be a tool, as defineTool makes it',
);

export const mcpShape = {
  workspace: workspaceSchema,
  /**
   * A memory to serve: its tools, MEMORY.md and the notes as resources and as a prompt. What clients save is merged and
   * maintained as in an agent.
   */
  memory: z
    .custom<MemoryService>((value) => value instanceof MemoryService, 'must be a MemoryService')
    .optional(),
  /** What else clients can call, for example the tools of `sessionHistory()`, or any other. */
  tools: z.array(toolSchema).default([]),
  /** How the server calls itself. */
  name: z.string().min(1).default('x-memory'),
  version: z.string().min(1).default('0.0.0'),
} as const;
