import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  type ContentBlock as McpContent,
  McpError,
  type Tool as McpTool,
} from '@modelcontextprotocol/sdk/types.js';
import {
  type FileBlock,
  type JsonObject,
  type Tool,
  type ToolOutputBlock,
  toClientError,
  type Workspace,
} from '@x/core';
import { callable, parseWith, type WordError } from '@x/core/internal';
import * as z from 'zod';
import { isCommon, scopePrefix } from '../memory-scope.js';
import { scopedTools, scopedToolsShape, type ToolScope, toolScopeSchema } from '../scoped-tools.js';

/** The instructions for MCP clients of a memory. */
const INSTRUCTIONS =
  'A long-term memory. Read MEMORY.md with memory_get at the beginning of a conversation: it contains what is known about the user. ' +
  'Search the rest with memory_search. Save what matters in later conversations with memory_save, and change it with ' +
  'memory_correct and memory_forget.';

const mcpShape = {
  ...scopedToolsShape,
  /** The server's name. Default `x-memory`. */
  name: z.string().min(1).default('x-memory'),
  /** Returns the error text for the client. Default: the error's `clientMessage`, or "An error occurred.". */
  onError: z.optional(callable<WordError>()),
} as const;

const optionsSchema = z.strictObject({ ...mcpShape, scope: toolScopeSchema.prefault({}) });

/** Options of `mcpServer`. */
type McpServerOptions = z.input<typeof optionsSchema>;

/**
 * Creates an MCP server for tools of `@x/core`. All tools run for one tenant, user, agent and session, which a client cannot change.
 * Clients of a memory get its tools and instructions. Connect the server to a transport of the official SDK.
 *
 * @throws {InvalidInputError} for invalid options, or two tools with one name.
 */
export function mcpServer(options: McpServerOptions): Server {
  const given = parseWith(optionsSchema, options, 'MCP server options');
  const { name, scope, memory, onError } = given;
  const scoped = scopedTools(given, scope, 'MCP server options');
  // If the scope has no memory, fail now and not at the first request.
  memory?.prefixOf(scope);
  const instructions = memory && { instructions: INSTRUCTIONS };
  const server = new Server({ name, version: '0.0.0' }, { capabilities: { tools: {} }, ...instructions });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [...scoped.tools.values()].map(describe),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }): Promise<CallToolResult> => {
    const tool = scoped.tools.get(params.name);
    if (tool === undefined) {
      throw new McpError(ErrorCode.InvalidParams, `There is no tool ${JSON.stringify(params.name)}.`);
    }
    try {
      const blocks = await scoped.run(tool, (params.arguments ?? {}) as JsonObject, signal);
      return { content: await Promise.all(blocks.map((block) => toMcpContent(block, scoped.files))) };
    } catch (error) {
      // The client's model reads this text.
      return { content: [{ type: 'text', text: toClientError(error, onError).message }], isError: true };
    }
  });
  return server;
}

/** A running server. */
interface StdioServer {
  /** Resolves when the client has disconnected. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/**
 * Serves tools to the client that started this process, over standard input and output. Write nothing else to standard output: write logs
 * to standard error.
 *
 * @throws {InvalidInputError} for invalid options.
 */
export async function serveStdio(options: McpServerOptions): Promise<StdioServer> {
  const server = mcpServer(options);
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve;
  });
  await server.connect(new StdioServerTransport());
  // The transport does not detect the end of its input.
  process.stdin.once('end', () => void server.close());
  return { closed, close: () => server.close() };
}

function describe({ definition, readOnly, destructive }: Tool): McpTool {
  return {
    name: definition.name,
    description: definition.description,
    inputSchema: { ...definition.inputSchema, type: 'object' },
    annotations: { readOnlyHint: readOnly, destructiveHint: destructive ?? false, openWorldHint: false },
  };
}

/** Converts a block of a tool's output for MCP. Files of the workspace are embedded, URLs are linked. */
async function toMcpContent(block: ToolOutputBlock, workspace: Workspace): Promise<McpContent> {
  if (block.type === 'text') return { type: 'text', text: block.text };
  const { mediaType, source } = block;
  switch (source.type) {
    case 'base64':
      return embedded(block, source.data);
    case 'workspace':
      return embedded(block, Buffer.from(await workspace.read(source.path)).toString('base64'));
    case 'url':
      return { type: 'resource_link', uri: source.url, name: nameOf(block), mimeType: mediaType };
    case 'provider':
      return { type: 'text', text: `[file ${nameOf(block)}, kept by ${source.provider} as ${source.id}]` };
  }
}

function embedded(block: FileBlock, data: string): McpContent {
  const mimeType = block.mediaType;
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType };
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType };
  const uri = `file:///${encodeURIComponent(nameOf(block))}`;
  return { type: 'resource', resource: { uri, blob: data, mimeType } };
}

function nameOf({ filename, mediaType }: FileBlock): string {
  return filename ?? mediaType;
}

/** Returns the user of a request. `undefined` rejects the request. */
type HttpScope = (request: IncomingMessage) => ToolScope | undefined | Promise<ToolScope | undefined>;

const httpOptionsSchema = z.strictObject({
  ...mcpShape,
  /** Identifies the user of a request, from a header or a certificate. Only its result decides whose memory is used. */
  scopeOf: callable<HttpScope>(),
  /**
   * Allowed `Host` headers (with port), against DNS rebinding. Default: `localhost`, `127.0.0.1` and `[::1]` for connections from this
   * machine, any host for other connections.
   */
  allowedHosts: z.array(z.string().min(1)).optional(),
  /** Origins of web pages that may send requests, such as `https://app.example`. Default: only those of this machine. */
  allowedOrigins: z.array(z.string().min(1)).default([]),
  /** The `WWW-Authenticate` header of a 401 response, for OAuth clients. Default `Bearer`. */
  challenge: z.string().min(1).default('Bearer'),
});

/** Options of `mcpHttpHandler`. */
type McpHttpOptions = z.input<typeof httpOptionsSchema>;
/** A request listener for `http.createServer`. */
type McpHttpHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * Serves tools over streamable HTTP. Returns a listener for `http.createServer`, or for a route of a framework that does not parse the
 * body. The server keeps no sessions, so you can run any number of replicas.
 *
 * @throws {InvalidInputError} for invalid options.
 */
export function mcpHttpHandler(options: McpHttpOptions): McpHttpHandler {
  const { scopeOf, allowedHosts, allowedOrigins, challenge, ...shared } = parseWith(
    httpOptionsSchema,
    options,
    'MCP HTTP options',
  );
  return async (request, response) => {
    try {
      const { host = '', origin } = request.headers;
      const isLocal = /^(?:::1$|(?:::ffff:)?127\.)/.test(request.socket.localAddress ?? '');
      const refuseFor = refuse.bind(undefined, response);
      const isKnownHost = allowedHosts?.includes(host) ?? (!isLocal || isLocalName(`http://${host}`));
      if (!isKnownHost) return refuseFor(403, `The host ${JSON.stringify(host)} is not allowed.`);
      const isKnownOrigin =
        origin === undefined || allowedOrigins.includes(origin) || (isLocal && isLocalName(origin));
      if (!isKnownOrigin) return refuseFor(403, `The origin ${JSON.stringify(origin)} is not allowed.`);
      const scope = await scopeOf(request);
      const challenged = { 'www-authenticate': challenge };
      // If sessions without a user have no memory, reject requests without a user.
      const sharing = shared.memory?.withoutUser ?? 'shared';
      if (scope === undefined || !isCommon(scopePrefix(scope), sharing))
        return refuseFor(401, 'This request does not identify a user.', challenged);
      if (request.method !== 'POST') return refuseFor(405, 'Send requests with POST.', { allow: 'POST' });
      const server = mcpServer({ ...shared, scope });
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
      response.once('close', () => void server.close());
      await server.connect(transport as Parameters<typeof server.connect>[0]);
      await transport.handleRequest(request, response);
    } catch {
      // The error may contain internal details.
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
