import { setMaxListeners } from 'node:events';
import { TimeLimitError } from '@x/core';
import { type Clock, errorText, systemClock, withinLimit } from '@x/core/internal';
import {
  type McpClient,
  type McpProgress,
  type McpResult,
  type McpTool,
  type OpenedClient,
  openClient,
} from './mcp-client.js';
import type { McpServerSettings, McpSettings, Redact } from './mcp-config.js';
import { failureKind, McpServerError } from './mcp-server-error.js';

export interface ServerConnectionOptions {
  readonly name: string;
  readonly server: McpServerSettings;
  readonly settings: McpSettings;
  readonly redact: Redact;
  /** The server has, or may have, other tools than before. */
  readonly toolsChanged: () => void;
  readonly clock?: Clock | undefined;
  readonly requestMeta?: (() => Record<string, string>) | undefined;
}

/** Pages of tools that are read: a server that never ends its list must not hold up the agent. */
const MAX_PAGES = 1_000;
const MAX_CAUSES = 10;

/**
 * One server. A connection that broke is made anew when it is next needed, after a pause that doubles with every failure;
 * until then calls fail at once, and say when to try again.
 */
export class ServerConnection {
  readonly #options: ServerConnectionOptions;
  readonly #clock: Clock;
  #client: McpClient | undefined;
  /** Those that are not closed: of one that was replaced, calls may still be under way. */
  readonly #opened = new Set<OpenedClient>();
  #connecting: Promise<McpClient> | undefined;
  #wasConnected = false;
  #failures = 0;
  #retryAt = 0;
  readonly #closing = new AbortController();

  constructor(options: ServerConnectionOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Tells whether it may connect now: not once it is closed, nor in the pause after a failure. */
  get mayConnect(): boolean {
    return !this.#closing.signal.aborted && this.#clock.now() >= this.#retryAt;
  }

  /**
   * Reads the server's list up to its end, or until more tools are wanted than an agent may have.
   *
   * @throws {McpServerError} `mcp_unavailable`, `mcp_unauthorized`, `mcp_timeout`.
   */
  async listTools(
    isWanted: (name: string) => boolean,
  ): Promise<{ tools: readonly McpTool[]; isWhole: boolean }> {
    const { maxTools, connectTimeoutMs } = this.#options.settings;
    return this.#request(connectTimeoutMs, undefined, 'list its tools', async (client, signal) => {
      const tools: McpTool[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < MAX_PAGES && tools.length <= maxTools; page++) {
        const listed = await client.listTools(cursor === undefined ? undefined : { cursor }, { signal });
        tools.push(...listed.tools.filter(({ name }) => isWanted(name)));
        cursor = listed.nextCursor;
        if (cursor === undefined) break;
      }
      return { tools, isWhole: cursor === undefined };
    });
  }

  /**
   * Calls a tool; again when the server cannot have got the call, and never when it may have.
   *
   * @throws {McpServerError} `mcp_unavailable`, `mcp_unauthorized`, `mcp_lost`, `mcp_timeout`.
   */
  async callTool(
    name: string,
    input: Record<string, unknown>,
    signal: AbortSignal,
    onprogress?: (progress: McpProgress) => void,
  ): Promise<McpResult> {
    const { settings, requestMeta } = this.#options;
    const listener = onprogress === undefined ? {} : { onprogress };
    const meta = requestMeta === undefined ? {} : { _meta: requestMeta() };
    return this.#request(settings.callTimeoutMs, signal, `answer ${name}`, (client, aborted) =>
      client.callTool({ name, arguments: input, ...meta }, undefined, { signal: aborted, ...listener }),
    );
  }

  async close(): Promise<void> {
    this.#closing.abort(this.#error('mcp_unavailable', `MCP server "${this.#options.name}" is closed.`));
    await this.#connecting?.catch(() => {});
    this.#client = undefined;
    await Promise.allSettled([...this.#opened].map((client) => client.close()));
  }

  async #request<T>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    what: string,
    send: (client: McpClient, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const client = await this.#connected();
      signal?.throwIfAborted();
      try {
        const answer = await this.#within(timeoutMs, signal, what, (aborted) => send(client, aborted));
        this.#failures = 0;
        return answer;
      } catch (error) {
        signal?.throwIfAborted();
        if (McpServerError.isInstance(error)) throw error;
        const kind = failureKind(error);
        // The connection is whole: the next call finds the tokens that a user's consent brought.
        if (kind === 'unauthorized') throw this.#unavailable(error);
        // A session that was begun for this call is known: what is refused is the call.
        if (kind === 'answered' || (kind === 'forgotten' && attempt > 1))
          throw this.#error(
            'mcp_tool_failed',
            `MCP server "${this.#options.name}": ${errorText(error)}`,
            error,
          );
        this.#drop(client, kind === 'forgotten');
        if (kind !== 'lost' && attempt === 1) continue;
        throw kind === 'unsent'
          ? this.#unavailable(error)
          : this.#error(
              'mcp_lost',
              `MCP server "${this.#options.name}" went away during the call. It is begun anew for the next call.`,
              error,
            );
      }
    }
  }

  /** Stops waiting at the signal, even when the request ignores it. */
  async #within<T>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    what: string,
    run: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { name } = this.#options;
    let limited: AbortSignal | undefined;
    const wait = [`MCP server "${name}"`, 'timeoutMs', timeoutMs] as const;
    try {
      return await withinLimit(
        wait,
        (deadline) => {
          limited = deadline.signal;
          // Each page of a list listens: how many there are is no sign of a leak.
          setMaxListeners(0, limited);
          return run(limited);
        },
        signal,
      );
    } catch (error) {
      // A client that is aborted words the end of its time in its own way.
      if (signal?.aborted || !TimeLimitError.isInstance(limited?.aborted ? limited.reason : error))
        throw error;
      throw this.#error('mcp_timeout', `MCP server "${name}" did not ${what} within ${timeoutMs} ms.`);
    }
  }

  #connected(): Promise<McpClient> {
    if (this.#client !== undefined) return Promise.resolve(this.#client);
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connect(): Promise<McpClient> {
    const { name, server, settings, toolsChanged } = this.#options;
    const { signal: closing } = this.#closing;
    closing.throwIfAborted();
    if (server.client !== undefined) {
      this.#client = server.client;
      return server.client;
    }
    const wait = this.#retryAt - this.#clock.now();
    if (wait > 0) {
      throw this.#error(
        'mcp_unavailable',
        `MCP server "${name}" is down; it is tried again in ${Math.ceil(wait / 1_000)} s.`,
      );
    }
    let opened: OpenedClient | undefined;
    const closed = () => {
      if (opened !== undefined) this.#opened.delete(opened);
      this.#drop(opened);
    };
    try {
      opened = await this.#within(settings.connectTimeoutMs, closing, 'begin', (signal) =>
        openClient(server, { toolsChanged, closed }, signal),
      );
    } catch (error) {
      closing.throwIfAborted();
      this.#failed();
      throw this.#unavailable(error);
    }
    this.#client = opened;
    this.#opened.add(opened);
    if (this.#wasConnected) toolsChanged();
    this.#wasConnected = true;
    return opened;
  }

  /** Has a new connection made for the next request; what is under way on this one goes on. */
  #drop(client: McpClient | undefined, isWell = false): void {
    if (client === undefined || client !== this.#client) return;
    this.#client = undefined;
    for (const opened of this.#opened) opened.retire().catch(() => {});
    if (!isWell) this.#failed();
  }

  #failed(): void {
    const { retryDelayMs, maxRetryDelayMs } = this.#options.settings;
    // The first attempt after a success is made at once.
    const pause =
      this.#failures === 0 ? 0 : Math.min(maxRetryDelayMs, retryDelayMs * 2 ** (this.#failures - 1));
    this.#failures++;
    this.#retryAt = this.#clock.now() + pause;
  }

  #unavailable(cause: unknown): McpServerError {
    const { name, redact } = this.#options;
    if (failureKind(cause) === 'unauthorized') {
      return this.#error(
        'mcp_unauthorized',
        `MCP server "${name}" waits for a user to authorize the program. The authProvider was given the address to open; with ` +
          'the code that comes back call auth(authProvider, { serverUrl, authorizationCode }) of ' +
          '@modelcontextprotocol/sdk/client/auth.js',
        cause,
      );
    }
    const reason = redact(errorText(cause));
    return this.#error('mcp_unavailable', `MCP server "${name}" cannot be reached: ${reason}`, cause);
  }

  #error(
    code: ConstructorParameters<typeof McpServerError>[0],
    message: string,
    cause?: unknown,
  ): McpServerError {
    const { name, redact } = this.#options;
    // Errors are logged with their causes: one that holds a secret is left out.
    const text = chainOf(cause);
    return new McpServerError(code, name, redact(message), redact(text) === text ? { cause } : {});
  }
}

function chainOf(error: unknown): string {
  const texts: string[] = [];
  for (let current = error; current instanceof Error && texts.length < MAX_CAUSES; current = current.cause) {
    texts.push(current.message, current.stack ?? '');
  }
  return texts.join('\n');
}
