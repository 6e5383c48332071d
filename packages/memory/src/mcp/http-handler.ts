import type { IncomingMessage, ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { parseWith } from '@x/core';
import { z } from 'zod';
import { type McpScope, mcpShape } from './mcp-config.js';
import { mcpServer } from './mcp-server.js';

/** For whom a request is served; `undefined` refuses it. */
export type HttpScope = (request: IncomingMessage) => McpScope | undefined | Promise<McpScope | undefined>;

const optionsSchema = z.strictObject({
  ...mcpShape,
  /** Finds out who is asking, from a header or a certificate: the only thing that decides whose memory it is. */
  scopeOf: z.custom<HttpScope>((value) => typeof value === 'function', 'must be a function'),
  /**
   * Host names (with port) that requests may be addressed to, against web pages that reach a local server by a name of
   * their own. Default: any. Set it when the server listens on this machine alone.
   */
  allowedHosts: z.array(z.string().min(1)).optional(),
});

/** Options of `mcpHttpHandler`. */
export type McpHttpOptions = z.input<typeof optionsSchema>;
/** A listener for `http.createServer`. */
export type McpHttpHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * Serves tools over streamable HTTP: a listener for `http.createServer`, or for a route of a framework that has not read
 * the body. Every request stands alone, so any number of replicas may answer.
 *
 * @throws {InvalidInputError} for malformed options.
 */
export function mcpHttpHandler(options: McpHttpOptions): McpHttpHandler {
  const { scopeOf, allowedHosts, ...shared } = parseWith(optionsSchema, options, 'MCP HTTP options');
  return async (request, response) => {
    try {
      const host = request.headers.host ?? '';
      if (allowedHosts !== undefined && !allowedHosts.includes(host)) {
        return refuse(response, 403, `This server does not answer for ${JSON.stringify(host)}.`);
      }
      const scope = await scopeOf(request);
      if (scope === undefined) return refuse(response, 401, 'This request says not who is asking.');
      if (request.method !== 'POST') return refuse(response, 405, 'Send requests with POST.');
      const server = mcpServer({ ...shared, scope });
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
      response.once('close', () => void server.close());
      await server.connect(transport as Parameters<typeof server.connect>[0]);
      await transport.handleRequest(request, response);
    } catch {
      // What went wrong may say more of this server than a client should know.
      if (!response.headersSent) refuse(response, 500, 'The request could not be answered.');
    }
  };
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const headers = { 'content-type': 'application/json', ...(status === 405 ? { allow: 'POST' } : {}) };
  response
    .writeHead(status, headers)
    .end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }));
}
