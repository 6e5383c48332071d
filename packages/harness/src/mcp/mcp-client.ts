import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  ElicitRequestSchema,
  type ElicitResult,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { errorText, tailOf } from '@x/core';
import * as z from 'zod';

/** A tool as a server lists it. What a server says is not trusted to have any form beyond its name. */
export interface McpTool {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly annotations?: unknown;
}

/** The answer of a server's tool. */
export interface McpResult {
  readonly content?: unknown;
  readonly structuredContent?: unknown;
  /** The answer in the first version of the protocol. */
  readonly toolResult?: unknown;
  readonly isError?: unknown;
}

export interface McpRequestOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds. */
  readonly timeout?: number;
}

/** Anything that can list and call the tools of a server: the official SDK's `Client`, or one's own. */
export interface McpClient {
  listTools(
    request?: { readonly cursor?: string },
    options?: McpRequestOptions,
  ): Promise<{ readonly tools: readonly McpTool[]; readonly nextCursor?: string | undefined }>;
  /** The second argument is for the SDK, whose options come third. */
  callTool(
    request: {
      readonly name: string;
      readonly arguments?: Record<string, unknown>;
      readonly _meta?: Record<string, string>;
    },
    resultSchema?: undefined,
    options?: McpRequestOptions,
  ): Promise<McpResult>;
  close?(): Promise<void>;
}

/** What a server asks the user for. */
export interface McpElicitation {
  readonly message: string;
  /** JSON Schema of the answer's content: an object of texts, numbers, booleans and choices. */
  readonly requestedSchema: Readonly<Record<string, unknown>>;
  /** Ends with the call that the question belongs to. */
  readonly signal: AbortSignal;
}

/** Has the user answer, decline or cancel. Fields that an accepted answer leaves out get the defaults of the schema. */
export type McpElicit = (request: McpElicitation) => Promise<ElicitResult> | ElicitResult;

/** Servers send what they like; one odd tool must not cost all others. */
const listSchema = z.looseObject({
  tools: z.array(z.looseObject({ name: z.string().min(1) })),
  nextCursor: z.string().optional(),
});
const resultSchema = z.looseObject({ content: z.unknown().optional() });

/** Characters kept of a program's standard error, to say why it did not start. */
const STDERR_CHARS = 2_000;
/** No limit of the SDK's own: the connection keeps the limit. */
const NO_TIMEOUT = 2 ** 31 - 1;

/** The place of a server: a program to start, or an address. */
interface McpServerAddress {
  readonly command?: string | undefined;
  readonly args?: string[] | undefined;
  readonly env?: Record<string, string> | undefined;
  readonly cwd?: string | undefined;
  readonly url?: string | undefined;
  readonly headers?: Record<string, string> | undefined;
  readonly authProvider?: OAuthClientProvider | undefined;
  readonly elicit?: McpElicit | undefined;
}

interface ClientListener {
  readonly toolsChanged: () => void;
  readonly closed: () => void;
}

/**
 * Starts or reaches a server, by the official SDK; one that knows no streamable HTTP by the protocol's earlier HTTP with SSE.
 *
 * @throws the error, with the program's standard error.
 */
export async function openClient(
  server: McpServerAddress,
  listener: ClientListener,
  signal: AbortSignal,
): Promise<McpClient> {
  const { url, headers, authProvider } = server;
  if (url === undefined) return connected(server, programOf(server), listener, signal);
  const options = {
    ...(headers === undefined ? {} : { requestInit: { headers } }),
    ...(authProvider === undefined ? {} : { authProvider }),
  };
  // The SDK's own class does not fit its own interface under exactOptionalPropertyTypes.
  const http = new StreamableHTTPClientTransport(new URL(url), options) as Transport;
  try {
    return await connected(server, { transport: http }, listener, signal);
  } catch (error) {
    if (!knowsNoPost(error as Error)) throw error;
    const sse = new SSEClientTransport(new URL(url), options);
    return await connected(server, { transport: sse }, listener, signal).catch(() => Promise.reject(error));
  }
}

interface Connection {
  readonly transport: Transport;
  /** What the program said on its standard error. */
  readonly stderr?: () => string;
}

async function connected(
  { elicit }: McpServerAddress,
  { transport, stderr = () => '' }: Connection,
  listener: ClientListener,
  signal: AbortSignal,
): Promise<McpClient> {
  const client = new Client(
    { name: 'x-harness', version: '1.0.0' },
    { capabilities: elicit === undefined ? {} : { elicitation: { form: { applyDefaults: true } } } },
  );
  client.setNotificationHandler(ToolListChangedNotificationSchema, listener.toolsChanged);
  if (elicit !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }, extra) => {
      if (!('requestedSchema' in params)) return { action: 'decline' };
      return elicit({
        message: params.message,
        requestedSchema: params.requestedSchema,
        signal: extra.signal,
      });
    });
  }
  client.onclose = listener.closed;
  // Without a listener, an error between calls would end the process.
  client.onerror = () => {};
  try {
    await client.connect(transport, { signal, timeout: NO_TIMEOUT });
  } catch (cause) {
    await client.close().catch(() => {});
    const said = stderr().trim();
    throw new Error(said === '' ? reasonOf(cause) : `${reasonOf(cause)}; it said: ${said}`, { cause });
  }
  return {
    async listTools(params, options) {
      const { tools, nextCursor } = await client.request(
        { method: 'tools/list', ...(params === undefined ? {} : { params }) },
        listSchema,
        { timeout: NO_TIMEOUT, ...options },
      );
      return { tools, nextCursor };
    },
    callTool: (params, _, options) =>
      client.request({ method: 'tools/call', params }, resultSchema, { timeout: NO_TIMEOUT, ...options }),
    close: () => client.close(),
  };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof UnauthorizedError)) return errorText(error);
  return (
    'it waits for a user to authorize the program. The authProvider was given the address to open; with the code that comes ' +
    'back call auth(authProvider, { serverUrl, authorizationCode }) of @modelcontextprotocol/sdk/client/auth.js'
  );
}

/** Answers of servers of the protocol's first version to a POST. */
function knowsNoPost({ cause }: { readonly cause?: unknown }): boolean {
  return cause instanceof StreamableHTTPError && [400, 404, 405].includes(cause.code ?? 0);
}

function programOf({ command, args, env, cwd }: McpServerAddress): Connection {
  let said = '';
  const transport = new StdioClientTransport({
    command: command ?? '',
    stderr: 'pipe',
    ...(args === undefined ? {} : { args }),
    ...(env === undefined ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd }),
  });
  transport.stderr?.on('data', (chunk: Buffer) => {
    said = tailOf(said + chunk.toString('utf8'), STDERR_CHARS);
  });
  return { transport, stderr: () => said };
}
