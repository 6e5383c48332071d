import { randomUUID } from 'node:crypto';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type Tool as McpTool,
} from '@modelcontextprotocol/sdk/types.js';
import {
  AgentState,
  errorText,
  InvalidInputError,
  type JsonObject,
  parseWith,
  RuntimeContext,
  SessionKey,
  type Tool,
  type ToolContext,
  WorkspaceSessionLog,
} from '@x/core';
import * as z from 'zod';
import { memoryTools } from '../memory/memory-tools.js';
import { mcpScopeSchema, mcpShape } from './mcp-config.js';
import { INSTRUCTIONS, offerMemory } from './memory-resources.js';
import { toMcpContent } from './to-mcp-content.js';

/** Characters that one answer of a memory's tool may have. */
const MAX_OUTPUT_CHARS = 20_000;

const optionsSchema = z.strictObject({ ...mcpShape, scope: mcpScopeSchema.prefault({}) });

/** Options of `mcpServer`. */
export type McpServerOptions = z.input<typeof optionsSchema>;

/**
 * An MCP server whose tools are tools of `@x/core`, all run for one tenant, user, agent and session: nothing that a client
 * sends can change for whom. The tools of `sessionHistory()` read sessions of the user's other agents too, unless it has
 * `otherAgents: false`. Connect it to a transport of the official SDK.
 *
 * @throws {InvalidInputError} for malformed options, or two tools of one name.
 */
export function mcpServer(options: McpServerOptions): Server {
  const settings = parseWith(optionsSchema, options, 'MCP server options');
  const { memory } = settings;
  const all = [
    ...(memory === undefined ? [] : memoryTools({ maxOutputChars: MAX_OUTPUT_CHARS }, () => memory)),
    ...settings.tools,
  ];
  const tools = new Map(all.map((tool) => [tool.definition.name, tool]));
  if (all.length === 0) {
    throw new InvalidInputError('MCP server options', [
      { path: 'tools', message: 'must be given, or a memory' },
    ]);
  }
  if (tools.size < all.length) {
    throw new InvalidInputError('MCP server options', [
      { path: 'tools', message: 'must have distinct names' },
    ]);
  }
  const { scope, workspace } = settings;
  const { agentId: _, ...identity } = scope;
  const runtime = RuntimeContext.of(identity);
  const contextOf = (name: string, input: JsonObject, signal: AbortSignal): ToolContext => ({
    call: { type: 'tool_use', id: randomUUID(), name, input },
    runtime,
    state: AgentState.create(identity),
    workspace,
    log: new WorkspaceSessionLog(workspace, SessionKey.of(scope)),
    signal,
  });

  const server = new Server(
    { name: settings.name, version: settings.version },
    {
      capabilities: { tools: {}, ...(memory === undefined ? {} : { resources: {}, prompts: {} }) },
      ...(memory === undefined ? {} : { instructions: INSTRUCTIONS }),
    },
  );
  if (memory !== undefined) offerMemory(server, memory, workspace, scope);
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools.values()].map(describe) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = tools.get(params.name);
    if (tool === undefined) {
      throw new McpError(ErrorCode.InvalidParams, `There is no tool ${JSON.stringify(params.name)}.`);
    }
    const input = (params.arguments ?? {}) as JsonObject;
    const result = await run(tool, input, contextOf(params.name, input, signal));
    if (!tool.readOnly) memory?.requestConsolidation(scope);
    return result;
  });
  return server;
}

function describe({ definition, readOnly, destructive }: Tool): McpTool {
  return {
    name: definition.name,
    description: definition.description,
    inputSchema: { ...definition.inputSchema, type: 'object' },
    annotations: { readOnlyHint: readOnly, destructiveHint: destructive ?? false, openWorldHint: false },
  };
}

/** What a tool throws is for the model to read, as in an agent. */
async function run(tool: Tool, input: JsonObject, context: ToolContext): Promise<CallToolResult> {
  const limit = tool.timeoutMs ? AbortSignal.timeout(tool.timeoutMs) : undefined;
  const signal = limit === undefined ? context.signal : AbortSignal.any([context.signal, limit]);
  try {
    const blocks = await tool.run(input, { ...context, signal });
    return { content: await Promise.all(blocks.map((block) => toMcpContent(block, context.workspace))) };
  } catch (error) {
    const text = errorText(error);
    return { content: [{ type: 'text', text }], isError: true };
  }
}
