import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport, SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  ElicitRequestSchema,
  type ElicitResult,
  ErrorCode,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { errorText, tailOf } from '@x/core/internal';
import * as z from 'zod';
import { HttpTransport } from './http-transport.js';
import { failureKind } from './mcp-server-error.js';
import { ProgramTransport } from './program-transport.js';

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
  readonly onprogress?: (progress: McpProgress) => void;
}

/** How far a call is, as the server counts it. */
export interface McpProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
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
  /** Ends with the call that the question belongs to; with the last of the calls that ran when it came. */
  readonly signal: AbortSignal;
}

/** Has the user answer, decline or cancel. Fields that an accepted answer leaves out get the defaults of the schema. */
export type McpElicit = (request: McpElicitation) => Promise<ElicitResult> | ElicitResult;

/** Servers send what they like; one odd tool must not cost all others. */
const listSchema = z.looseObject({
  // What has no name is left out, with a warning.
  tools: z.array(z.unknown()),
  nextCursor: z.string().optional(),
});

const resultSchema = z.looseObject({ content: z.unknown().optional() });
const resourcesSchema = z.looseObject({ contents: z.array(z.unknown()) });

/** The tool by which the model reads the resources of a server, named after the protocol's method. */
const READER: McpTool = {
  name: 'resources/read',
  description:
    'Reads a resource of this server by its uri. Without a uri lists resources and templates of uris.',
  inputSchema: {
    type: 'object',
    properties: {
      uri: { type: 'string' },
      cursor: { type: 'string', description: 'Of the next page of a list' },
    },
  },
  annotations: { readOnlyHint: true },
};

/** Characters kept of a program's standard error, to say why it did not start. */
const STDERR_CHARS = 2_000;
/** Pages of templates that are read: a server may never end its list. */
const MAX_TEMPLATE_PAGES = 50;
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

/** A client that was opened here. */
export interface OpenedClient extends McpClient {
  /** Closes it once all requests that are under way have ended. */
  retire(): Promise<void>;
  close(): Promise<void>;
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
): Promise<OpenedClient> {
  const { url, headers, authProvider } = server;
  if (url === undefined) return connected(server, programOf(server), listener, signal);
  const options = {
    ...(headers === undefined ? {} : { requestInit: { headers } }),
    ...(authProvider === undefined ? {} : { authProvider }),
  };
  // The SDK's own class does not fit its own interface under exactOptionalPropertyTypes.
  const http = new HttpTransport(new URL(url), options) as Transport;
  try {
    return await connected(server, { transport: http }, listener, signal);
  } catch (error) {
    if (!knowsNoPost(error as Error)) throw error;
    const sse = new SSEClientTransport(new URL(url), options);
    // It would go on by a stream of another session, without the answers of this one.
    sse.onerror = (cut) => {
      if (cut instanceof SseError) void sse.close();
    };
    return await connected(server, { transport: sse }, listener, signal).catch((later: unknown) => {
      throw failureKind(later) === 'unauthorized' ? later : error;
    });
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
): Promise<OpenedClient> {
  const client = new Client(
    { name: 'x-harness', version: '1.0.0' },
    { capabilities: elicit === undefined ? {} : { elicitation: { form: { applyDefaults: true } } } },
  );
  const running = new Set<Promise<unknown>>();
  client.setNotificationHandler(ToolListChangedNotificationSchema, listener.toolsChanged);
  if (elicit !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, ({ params: { message, ...params } }, extra) => {
      if (!('requestedSchema' in params)) return { action: 'decline' };
      // Servers do not say to which call a question belongs.
      if (running.size === 0) return { action: 'cancel' };
      const calls = new AbortController();
      void Promise.allSettled(running).then(() => calls.abort());
      const signal = AbortSignal.any([extra.signal, calls.signal]);
      const ended = new Promise<ElicitResult>((resolve) => {
        signal.addEventListener('abort', () => resolve({ action: 'cancel' }), { once: true });
      });
      return Promise.race([elicit({ message, requestedSchema: params.requestedSchema, signal }), ended]);
    });
  }
  client.onclose = listener.closed;
  // Without a listener, an error between calls would end the process.
  client.onerror = () => {};
  signal.throwIfAborted();
  // A stream of events that never names its endpoint is beyond the signal of a request.
  const stop = () => void client.close().catch(() => {});
  signal.addEventListener('abort', stop, { once: true });
  try {
    await client.connect(transport, { signal, timeout: NO_TIMEOUT });
  } catch (cause) {
    await client.close().catch(() => {});
    const said = stderr().trim();
    throw new Error(said === '' ? errorText(cause) : `${errorText(cause)}; it said: ${said}`, { cause });
  } finally {
    signal.removeEventListener('abort', stop);
  }
  return clientOf(client, running);
}

type Request = <T extends z.ZodType>(
  method: string,
  params: Record<string, unknown> | undefined,
  schema: T,
  options?: McpRequestOptions,
) => Promise<z.output<T>>;

/** The SDK's client as ours: resources are read by a tool. Requests are `running` until they are answered. */
function clientOf(client: Client, running: Set<Promise<unknown>>): OpenedClient {
  const has = client.getServerCapabilities() ?? {};
  const own = new Set<string>();
  const request: Request = (method, params, schema, options = {}) => {
    const asked = { method, ...(params === undefined ? {} : { params }) };
    const answer = client.request(asked, schema, { timeout: NO_TIMEOUT, ...options });
    running.add(answer);
    return answer.finally(() => running.delete(answer));
  };
  const read = readerBy(request);
  const hasReader = () => has.resources !== undefined && !own.has(READER.name);
  return {
    async listTools(params, options) {
      if (params === undefined) own.clear();
      const { tools, nextCursor } =
        has.tools === undefined
          ? { tools: [] }
          : await request('tools/list', { ...params }, listSchema, options);
      for (const tool of tools) own.add((tool as McpTool | null)?.name ?? '');
      const listed = tools as readonly McpTool[];
      if (nextCursor !== undefined) return { tools: listed, nextCursor };
      return { tools: hasReader() ? [...listed, READER] : listed };
    },
    callTool(params, _, options) {
      return params.name === READER.name && hasReader()
        ? read(params.arguments ?? {}, options)
        : request('tools/call', params, resultSchema, options);
    },
    async retire() {
      await Promise.allSettled(running);
      await client.close();
    },
    close: () => client.close(),
  };
}

/** The work of {@link READER}. */
function readerBy(
  request: Request,
): (input: Record<string, unknown>, options?: McpRequestOptions) => Promise<McpResult> {
  const anything = z.looseObject({});
  /** One of a server's lists, which it may have or not. */
  const list = (method: string, params: Record<string, unknown>, options?: McpRequestOptions) =>
    request(method, params, anything, options).catch((error: unknown) => {
      if ((error as { readonly code?: unknown }).code === ErrorCode.MethodNotFound) return {};
      throw error;
    });
  const templates = async (options?: McpRequestOptions): Promise<readonly unknown[] | undefined> => {
    const found: unknown[][] = [];
    let page: Record<string, unknown> = {};
    do {
      const cursor = page.nextCursor === undefined ? {} : { cursor: page.nextCursor };
      page = await list('resources/templates/list', cursor, options);
      if (Array.isArray(page.resourceTemplates)) found.push(page.resourceTemplates);
    } while (typeof page.nextCursor === 'string' && found.length < MAX_TEMPLATE_PAGES);
    return found.length === 0 ? undefined : found.flat();
  };
  return async ({ uri, cursor }, options) => {
    if (uri !== undefined) {
      const { contents } = await request('resources/read', { uri }, resourcesSchema, options);
      return { content: contents.map((resource) => ({ type: 'resource', resource })) };
    }
    const page = cursor === undefined ? {} : { cursor };
    const resources = await list('resources/list', page, options);
    // A cursor is one of the resources, and would be refused for the templates: they come whole with the first page.
    const resourceTemplates = cursor === undefined ? await templates(options) : undefined;
    return { structuredContent: { resourceTemplates, ...resources } };
  };
}

/** Answers of servers of the protocol's first version to a POST. */
function knowsNoPost({ cause }: { readonly cause?: unknown }): boolean {
  return cause instanceof StreamableHTTPError && [400, 404, 405].includes(cause.code ?? 0);
}

function programOf({ command = '', args, env, cwd }: McpServerAddress): Connection {
  let said = '';
  const hear = (text: string) => {
    said = tailOf(said + text, STDERR_CHARS);
  };
  const server = {
    command,
    ...(args === undefined ? {} : { args }),
    ...(env === undefined ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd }),
  };
  if (process.platform !== 'win32')
    return { transport: new ProgramTransport(server, hear), stderr: () => said };
  // There a program's name needs the SDK's way to find it, and groups of processes there are none.
  const transport = new StdioClientTransport({ ...server, stderr: 'pipe' });
  transport.stderr?.on('data', (chunk: Buffer) => hear(chunk.toString('utf8')));
  return { transport, stderr: () => said };
}
