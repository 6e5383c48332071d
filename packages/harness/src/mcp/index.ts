export { type McpOptions, mcp, mcpCapability } from './mcp.js';
export type {
  McpClient,
  McpElicit,
  McpElicitation,
  McpProgress,
  McpRequestOptions,
  McpResult,
  McpTool,
} from './mcp-client.js';
export type { McpConfig } from './mcp-config.js';
export { McpServerError, type McpServerErrorCode } from './mcp-server-error.js';
