import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
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
}

interface ClientListener {
  readonly toolsChanged: () => void;
  readonly closed: () => void;
}

/** Starts or reaches a server, by the official SDK. Rejects with the error, and with the program's standard error. */
export async function openClient(
  server: McpServerAddress,
  listener: ClientListener,
  signal: AbortSignal,
): Promise<McpClient> {
  const client = new Client({ name: 'x-harness', version: '1.0.0' });
  const { transport, stderr } = transportOf(server);
  client.setNotificationHandler(ToolListChangedNotificationSchema, listener.toolsChanged);
  client.onclose = listener.closed;
  // Without a listener, an error between calls would end the process.
  client.onerror = () => {};
  try {
    await client.connect(transport, { signal, timeout: NO_TIMEOUT });
  } catch (cause) {
    await client.close().catch(() => {});
    const message = errorText(cause);
    const said = stderr().trim();
    throw new Error(said === '' ? message : `${message}; it said: ${said}`, { cause });
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

function transportOf({ command, args, env, cwd, url, headers }: McpServerAddress): {
  readonly transport: Transport;
  readonly stderr: () => string;
} {
  if (url !== undefined) {
    const requestInit = headers === undefined ? {} : { headers };
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
    // The SDK's own class does not fit its own interface under exactOptionalPropertyTypes.
    return { transport: transport as Transport, stderr: () => '' };
  }
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
