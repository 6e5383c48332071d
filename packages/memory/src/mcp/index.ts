export { type HttpScope, type McpHttpHandler, type McpHttpOptions, mcpHttpHandler } from './http-handler.js';
export { type McpServerOptions, mcpServer, type StdioServer, serveStdio } from './mcp-server.js';
