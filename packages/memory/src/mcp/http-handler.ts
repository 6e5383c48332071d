import type { IncomingMessage, ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { callable, parseWith } from '@x/core';
import * as z from 'zod';
import { isCommon, scopePrefix } from '../memory-scope.js';
import type { ToolScope } from '../scoped-tools.js';
import { mcpServer, mcpShape } from './mcp-server.js';

/** For whom a request is served; `undefined` refuses it. */
export type HttpScope = (request: IncomingMessage) => ToolScope | undefined | Promise<ToolScope | undefined>;

const optionsSchema = z.strictObject({
  ...mcpShape,
  /** Finds out who is asking, from a header or a certificate: the only thing that decides whose memory it is. */
  scopeOf: callable<HttpScope>(),
  /**
   * Host names (with port) that requests may be addressed to, against web pages that reach a local server by a name of
   * their own. Default: for connections of this machine its own names (`localhost`, `127.0.0.1`, `[::1]`), else any.
   */
  allowedHosts: z.array(z.string().min(1)).optional(),
  /** Origins of web pages that may send requests, as `https://app.example`. Default: none but those of this machine. */
  allowedOrigins: z.array(z.string().min(1)).default([]),
  /** The `WWW-Authenticate` header of a refusal, which tells OAuth clients where to begin. */
  challenge: z.string().min(1).default('Bearer'),
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
  const { scopeOf, allowedHosts, allowedOrigins, challenge, ...shared } = parseWith(
    optionsSchema,
    options,
    'MCP HTTP options',
  );
  return async (request, response) => {
    try {
      const { host = '', origin } = request.headers;
      const isLocal = /^(?:::1$|(?:::ffff:)?127\.)/.test(request.socket.localAddress ?? '');
      const refuseFor = refuse.bind(undefined, response);
      const isKnownHost = allowedHosts?.includes(host) ?? (!isLocal || isLocalName(`http://${host}`));
      if (!isKnownHost) return refuseFor(403, `This server does not answer for ${JSON.stringify(host)}.`);
      const isKnownOrigin =
        origin === undefined || allowedOrigins.includes(origin) || (isLocal && isLocalName(origin));
      if (!isKnownOrigin) return refuseFor(403, `This server does not answer ${JSON.stringify(origin)}.`);
      const scope = await scopeOf(request);
      const challenged = { 'www-authenticate': challenge };
      // Where those without a user remember nothing, they are nobody.
      const sharing = shared.memory?.withoutUser ?? 'shared';
      if (scope === undefined || !isCommon(scopePrefix(scope), sharing))
        return refuseFor(401, 'This request says not who is asking.', challenged);
      if (request.method !== 'POST') return refuseFor(405, 'Send requests with POST.', { allow: 'POST' });
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

function isLocalName(url: string): boolean {
  return URL.canParse(url) && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }));
}
