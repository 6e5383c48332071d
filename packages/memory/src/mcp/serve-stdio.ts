import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { type McpServerOptions, mcpServer } from './mcp-server.js';

/** A server that is being served. */
export interface StdioServer {
  /** Resolves when the client has gone. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/**
 * Serves tools to the client that started this process, over its standard input and output. Write nothing else to the
 * standard output: logs belong on the standard error.
 *
 * @throws {InvalidInputError} for malformed options.
 */
export async function serveStdio(options: McpServerOptions): Promise<StdioServer> {
  const server = mcpServer(options);
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve;
  });
  await server.connect(new StdioServerTransport());
  // The transport does not notice that its input has ended.
  process.stdin.once('end', () => void server.close());
  return { closed, close: () => server.close() };
}
