export { type HttpScope, type McpHttpHandler, type McpHttpOptions, mcpHttpHandler } from './http-handler.js';
export { type McpServerOptions, mcpServer } from './mcp-server.js';
export { type StdioServer, serveStdio } from './serve-stdio.js';
