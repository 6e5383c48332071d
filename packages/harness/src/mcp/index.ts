export { mcp, mcpCapability } from './mcp.js';
export type { McpClient, McpElicit } from './mcp-client.js';
export type { McpConfig } from './mcp-config.js';
export { McpServerError } from './mcp-server-error.js';
