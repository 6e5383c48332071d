import { setMaxListeners } from 'node:events';
import { TimeLimitError } from '@x/core';
import {
  type Clock,
  type Deadline,
  errorText,
  headOf,
  isObject,
  systemClock,
  withinLimit,
} from '@x/core/internal';
import {
  type McpClient,
  type McpProgress,
  type McpResult,
  type McpTool,
  NO_TIMEOUT,
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
  /** Called when the server announces that its tools changed. */
  readonly toolsChanged: () => void;
  /** Called after a reconnect, when the server may have other tools. */
  readonly began: () => void;
  readonly clock?: Clock | undefined;
  readonly requestMeta?: (() => Record<string, string>) | undefined;
}

/** Name of the timeout that restarts with each progress notification. */
const TIMEOUT = 'timeoutMs';
/** Maximum number of pages of a tool list, so that an endless list cannot block the agent. */
const MAX_PAGES = 1_000;
const MAX_CAUSES = 10;
/** Consecutive rejected calls after which a new session is started. */
const MOST_REFUSED = 2;

export interface ListedTools {
  readonly tools: readonly McpTool[];
  /** Number of entries that were left out because they have no name. */
  readonly nameless: number;
  readonly isWhole: boolean;
}

function isNamed(tool: unknown): tool is McpTool {
  return isObject(tool) && typeof tool.name === 'string' && tool.name !== '';
}

/**
 * Connection to one server. A broken connection is re-established on next use, after a delay that doubles with every
 * failure. Until then, calls fail at once and say when to retry.
 */
export class ServerConnection {
  readonly #options: ServerConnectionOptions;
  readonly #clock: Clock;
  #client: McpClient | undefined;
  /** Clients that are not closed. A replaced client may still have running calls. */
  readonly #opened = new Set<OpenedClient>();
  #connecting: Promise<McpClient> | undefined;
  #wasConnected = false;
  #failures = 0;
  #retryAt = 0;
  /** Consecutive calls that the session rejected with an HTTP status. */
  #refused = 0;
  readonly #closing = new AbortController();

  constructor(options: ServerConnectionOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  get #subject(): string {
    return `MCP server "${this.#options.name}"`;
  }

  /** Tests if the connection may be used now: it is not closed, and no retry delay is pending. */
  get mayConnect(): boolean {
    return !this.#closing.signal.aborted && this.#clock.now() >= this.#retryAt;
  }

  /**
   * Reads the server's tool list to its end, or until it has more tools than an agent may have.
   *
   * @throws {McpServerError} `mcp_unavailable`, `mcp_unauthorized`, `mcp_timeout`.
   */
  async listTools(isWanted: (name: string) => boolean): Promise<ListedTools> {
    const { maxTools, connectTimeoutMs } = this.#options.settings;
    return this.#request(connectTimeoutMs, undefined, 'list its tools', async (client, signal) => {
      const tools: McpTool[] = [];
      let nameless = 0;
      let cursor: string | undefined;
      for (let page = 0; page < MAX_PAGES && tools.length <= maxTools; page++) {
        const params = cursor === undefined ? undefined : { cursor };
        const listed = await client.listTools(params, { signal, timeout: NO_TIMEOUT });
        const named = listed.tools.filter(isNamed);
        nameless += listed.tools.length - named.length;
        tools.push(...named.filter(({ name }) => isWanted(name)));
        // Some servers end a list with an empty cursor, or null.
        cursor = listed.nextCursor || undefined;
        if (cursor === undefined) break;
      }
      return { tools, nameless, isWhole: cursor === undefined };
    });
  }

  /**
   * Calls a tool. Retries only if the server cannot have processed the call.
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
    const { callTimeoutMs, maxCallMs } = settings;
    const meta = requestMeta === undefined ? {} : { _meta: requestMeta() };
    return this.#request(callTimeoutMs, signal, `answer ${name}`, (client, aborted, deadline) => {
      const limit = (key: string, ms: number) => deadline.start(this.#subject, key, ms);
      if (callTimeoutMs > 0 && maxCallMs > 0) limit('maxCallMs', Math.max(callTimeoutMs, maxCallMs));
      return client.callTool({ name, arguments: input, ...meta }, undefined, {
        signal: aborted,
        timeout: NO_TIMEOUT,
        onprogress(progress) {
          limit(TIMEOUT, callTimeoutMs);
          onprogress?.(progress);
        },
      });
    });
  }

  async close(): Promise<void> {
    this.#closing.abort(this.#error('mcp_unavailable', `${this.#subject} is closed.`));
    await this.#connecting?.catch(() => {});
    this.#client = undefined;
    await Promise.allSettled([...this.#opened].map((client) => client.close()));
  }

  async #request<T>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    what: string,
    send: (client: McpClient, signal: AbortSignal, deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const client = await this.#connected();
      signal?.throwIfAborted();
      try {
        const answer = await this.#within(timeoutMs, signal, what, (aborted, deadline) =>
          send(client, aborted, deadline),
        );
        this.#failures = 0;
        this.#refused = 0;
        return answer;
      } catch (error) {
        signal?.throwIfAborted();
        if (McpServerError.isInstance(error)) throw error;
        const kind = failureKind(error);
        // Keep the connection: after the user's consent, the next call has the tokens.
        if (kind === 'unauthorized') throw this.#unavailable(error);
        // The meaning of an HTTP rejection is unknown. Start a new session after several of them, in case the server
        // lost this one.
        if (kind === 'refused' && ++this.#refused >= MOST_REFUSED) this.#drop(client, true);
        if (kind === 'answered' || kind === 'refused' || (kind === 'forgotten' && attempt > 1))
          throw this.#error('mcp_tool_failed', `${this.#subject}: ${errorText(error)}`, error);
        this.#drop(client, kind === 'forgotten');
        if (kind !== 'lost' && attempt === 1) continue;
        throw kind === 'unsent'
          ? this.#unavailable(error)
          : this.#error(
              'mcp_lost',
              `${this.#subject} disconnected during the call. The next call reconnects to it.`,
              error,
            );
      }
    }
  }

  /** Stops waiting when the signal aborts, even if the request ignores it. */
  async #within<T>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    what: string,
    run: (signal: AbortSignal, deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    let limited: AbortSignal | undefined;
    const wait = [this.#subject, TIMEOUT, timeoutMs] as const;
    try {
      return await withinLimit(
        wait,
        (deadline) => {
          limited = deadline.signal;
          // Each page of a list adds a listener, so disable the warning about leaks.
          setMaxListeners(0, limited);
          return run(limited, deadline);
        },
        signal,
      );
    } catch (error) {
      // An aborted client may report the timeout with its own error.
      const reason: unknown = limited?.aborted ? limited.reason : error;
      if (signal?.aborted || !TimeLimitError.isInstance(reason)) throw error;
      throw this.#error('mcp_timeout', `${this.#subject} did not ${what} within ${reason.ms} ms.`);
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
    const { server, settings, toolsChanged, began } = this.#options;
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
        `${this.#subject} is unavailable. The next attempt is possible in ${Math.ceil(wait / 1_000)} s.`,
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
    if (this.#wasConnected) began();
    this.#wasConnected = true;
    return opened;
  }

  /** Discards the connection, so that the next request opens a new one. Running requests continue on the old one. */
  #drop(client: McpClient | undefined, isWell = false): void {
    if (client === undefined || client !== this.#client) return;
    this.#client = undefined;
    for (const opened of this.#opened) opened.retire().catch(() => {});
    if (!isWell) this.#failed();
  }

  #failed(): void {
    const { retryDelayMs, maxRetryDelayMs } = this.#options.settings;
    // The first retry after a success has no delay.
    const pause =
      this.#failures === 0 ? 0 : Math.min(maxRetryDelayMs, retryDelayMs * 2 ** (this.#failures - 1));
    this.#failures++;
    this.#retryAt = this.#clock.now() + pause;
  }

  #unavailable(cause: unknown): McpServerError {
    if (failureKind(cause) === 'unauthorized') {
      return this.#error(
        'mcp_unauthorized',
        `${this.#subject} waits for a user to authorize the program. The authProvider received the address to open. With ` +
          'the code that the user gets, call auth(authProvider, { serverUrl, authorizationCode }) of ' +
          '@modelcontextprotocol/sdk/client/auth.js',
        cause,
      );
    }
    const reason = this.#options.redact(errorText(cause));
    return this.#error('mcp_unavailable', `${this.#subject} cannot be reached: ${reason}`, cause);
  }

  #error(
    code: ConstructorParameters<typeof McpServerError>[0],
    message: string,
    cause?: unknown,
  ): McpServerError {
    const { name, redact, settings } = this.#options;
    const shown = headOf(redact(message), settings.maxResultChars);
    // Errors are logged with their causes, so leave out a cause that contains a secret.
    const text = chainOf(cause);
    return new McpServerError(code, name, shown, redact(text) === text ? { cause } : {});
  }
}

function chainOf(error: unknown): string {
  const texts: string[] = [];
  for (let current = error; current instanceof Error && texts.length < MAX_CAUSES; current = current.cause) {
    texts.push(current.message, current.stack ?? '');
  }
  return texts.join('\n');
}
