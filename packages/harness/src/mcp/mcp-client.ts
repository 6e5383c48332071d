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
import { boundedFetch, HttpTransport } from './http-transport.js';
import { failureKind } from './mcp-server-error.js';
import { ProgramTransport } from './program-transport.js';

/** A tool as a server lists it. Only the name is validated. */
export interface McpTool {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly annotations?: unknown;
}

/** The result of a server's tool. */
export interface McpResult {
  readonly content?: unknown;
  readonly structuredContent?: unknown;
  /** The result in the first version of the protocol. */
  readonly toolResult?: unknown;
  readonly isError?: unknown;
}

export interface McpRequestOptions {
  readonly signal?: AbortSignal;
  /** Timeout in milliseconds. */
  readonly timeout?: number;
  readonly onprogress?: (progress: McpProgress) => void;
}

/** Progress of a call, in the server's own units. */
export interface McpProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** A client that can list and call a server's tools: the official SDK's `Client`, or your own. */
export interface McpClient {
  /** Lists one page of the server's tools. */
  listTools(
    request?: { readonly cursor?: string },
    options?: McpRequestOptions,
  ): Promise<{ readonly tools: readonly McpTool[]; readonly nextCursor?: string | null | undefined }>;
  /** Calls a tool. The second argument exists for the SDK, which expects options as the third. */
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

/** A question from a server to the user. */
export interface McpElicitation {
  readonly message: string;
  /** JSON Schema of the answer: an object with strings, numbers, booleans and enums. */
  readonly requestedSchema: Readonly<Record<string, unknown>>;
  /**
   * Aborts when all calls have ended that were running when the question arrived, or when the server cancels the
   * question.
   */
  readonly signal: AbortSignal;
}

/** Asks the user to answer, decline or cancel. Fields that an accepted answer omits get the schema's defaults. */
export type McpElicit = (request: McpElicitation) => Promise<ElicitResult> | ElicitResult;

/** Schema of a tool list. It is loose, so that one invalid tool does not hide all others. */
const listSchema = z.looseObject({
  // Tools without a name are left out later, with a warning.
  tools: z.array(z.unknown()),
  nextCursor: z.string().nullish(),
});

const resultSchema = z.looseObject({ content: z.unknown().optional() });
const resourcesSchema = z.looseObject({ contents: z.array(z.unknown()) });

/** Tool with which the model reads a server's resources. Named after the protocol's method. */
const READER: McpTool = {
  name: 'resources/read',
  description:
    'Reads a resource of this server by its URI. Without a URI, lists resources and URI templates.',
  inputSchema: {
    type: 'object',
    properties: {
      uri: { type: 'string' },
      cursor: { type: 'string', description: 'The cursor of the next page of a list' },
    },
  },
  annotations: { readOnlyHint: true },
};

/** Characters of a program's standard error to keep, to explain why it did not start. */
const STDERR_CHARS = 2_000;
/** Maximum number of pages of a template list, which a server may never end. */
const MAX_TEMPLATE_PAGES = 50;
/** Maximum number of messages since the last answer to a request. Beyond it, the connection is closed. */
const MAX_UNASKED = 20_000;
/** Largest timeout of the SDK's clients in milliseconds. The connection applies its own timeouts. */
export const NO_TIMEOUT = 2 ** 31 - 1;

/** How to reach a server: a program to start, or a URL. */
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
 * Starts a server or connects to it, with the official SDK. If a server does not support streamable HTTP, falls back to
 * the earlier HTTP with SSE.
 *
 * @throws the error, with the program's standard error in its message.
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
  // The SDK's class does not match its own interface under exactOptionalPropertyTypes.
  const http = new HttpTransport(new URL(url), options) as Transport;
  try {
    return await connected(server, { transport: http }, listener, signal);
  } catch (error) {
    if (!knowsNoPost(error as Error)) throw error;
    const sse = new SSEClientTransport(new URL(url), { ...options, fetch: boundedFetch });
    // Do not let the SDK reconnect: the new stream would be another session, without the answers of this one.
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
  /** Returns the standard error of the program. */
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
  /** Messages since the last answer. A count, because a time limit would end a slow server as well. */
  let unasked = 0;
  const count = () => {
    if (++unasked === MAX_UNASKED) void client.close().catch(() => {});
  };
  const { onmessage } = transport;
  transport.onmessage = (...message) => {
    count();
    onmessage?.(...message);
  };
  client.setNotificationHandler(ToolListChangedNotificationSchema, listener.toolsChanged);
  if (elicit !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, ({ params: { message, ...params } }, extra) => {
      if (!('requestedSchema' in params)) return { action: 'decline' };
      // Servers do not say which call a question belongs to.
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
  // Without a listener, an error between calls would end the process. Lines that are not valid messages are reported here too, so they are
  // counted.
  client.onerror = count;
  signal.throwIfAborted();
  // The signal of a request does not cover an event stream that never names its endpoint.
  const stop = () => void client.close().catch(() => {});
  signal.addEventListener('abort', stop, { once: true });
  try {
    await client.connect(transport, { signal, timeout: NO_TIMEOUT });
  } catch (cause) {
    await client.close().catch(() => {});
    const output = stderr().trim();
    throw new Error(output === '' ? errorText(cause) : `${errorText(cause)}; its standard error: ${output}`, {
      cause,
    });
  } finally {
    signal.removeEventListener('abort', stop);
  }
  return clientOf(client, running, () => {
    unasked = 0;
  });
}

type Request = <T extends z.ZodType>(
  method: string,
  params: Record<string, unknown> | undefined,
  schema: T,
  options?: McpRequestOptions,
) => Promise<z.output<T>>;

/**
 * Wraps the SDK's client and adds a tool that reads resources. `running` contains the unanswered requests, and `answered`
 * is called after each answer.
 */
function clientOf(client: Client, running: Set<Promise<unknown>>, answered: () => void): OpenedClient {
  const has = client.getServerCapabilities() ?? {};
  const own = new Set<string>();
  const request: Request = (method, params, schema, options) => {
    const asked = { method, ...(params === undefined ? {} : { params }) };
    const answer = client.request(asked, schema, options);
    running.add(answer);
    void answer.then(answered, () => {});
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
      if (nextCursor) return { tools: listed, nextCursor };
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

/** Returns the implementation of {@link READER}. */
function readerBy(
  request: Request,
): (input: Record<string, unknown>, options?: McpRequestOptions) => Promise<McpResult> {
  const anything = z.looseObject({});
  /** Requests a list. Returns an empty object if the server does not support the method. */
  const list = (method: string, params: Record<string, unknown>, options?: McpRequestOptions) =>
    request(method, params, anything, options).catch((error: unknown) => {
      if ((error as { readonly code?: unknown }).code === ErrorCode.MethodNotFound) return {};
      throw error;
    });
  const templates = async (options?: McpRequestOptions): Promise<readonly unknown[] | undefined> => {
    const found: unknown[][] = [];
    let page: Record<string, unknown> = {};
    do {
      const cursor = page.nextCursor ? { cursor: page.nextCursor } : {};
      page = await list('resources/templates/list', cursor, options);
      if (Array.isArray(page.resourceTemplates)) found.push(page.resourceTemplates);
    } while (page.nextCursor && found.length < MAX_TEMPLATE_PAGES);
    return found.length === 0 ? undefined : found.flat();
  };
  return async ({ uri, cursor }, options) => {
    if (uri !== undefined) {
      const { contents } = await request('resources/read', { uri }, resourcesSchema, options);
      return { content: contents.map((resource) => ({ type: 'resource', resource })) };
    }
    const page = cursor === undefined ? {} : { cursor };
    const resources = await list('resources/list', page, options);
    // The cursor belongs to the resources and is invalid for the templates. Return all templates with the first page.
    const resourceTemplates = cursor === undefined ? await templates(options) : undefined;
    return { structuredContent: { resourceTemplates, ...resources } };
  };
}

/** Tests if an error is a typical answer of a server that supports only HTTP with SSE. */
function knowsNoPost({ cause }: { readonly cause?: unknown }): boolean {
  return cause instanceof StreamableHTTPError && [400, 404, 405].includes(cause.code ?? 0);
}

function programOf({ command = '', args, env, cwd }: McpServerAddress): Connection {
  let output = '';
  const keep = (text: string) => {
    output = tailOf(output + text, STDERR_CHARS);
  };
  const server = {
    command,
    ...(args === undefined ? {} : { args }),
    ...(env === undefined ? {} : { env }),
    ...(cwd === undefined ? {} : { cwd }),
  };
  if (process.platform !== 'win32')
    return { transport: new ProgramTransport(server, keep), stderr: () => output };
  // Windows has no process groups, and the SDK knows how to find programs there.
  const transport = new StdioClientTransport({ ...server, stderr: 'pipe' });
  transport.stderr?.on('data', (chunk: Buffer) => keep(chunk.toString('utf8')));
  return { transport, stderr: () => output };
}
