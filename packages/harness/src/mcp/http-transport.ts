import { setTimeout } from 'node:timers/promises';
import {
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ErrorCode,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { withinLimit } from '@x/core/internal';
import { bounded } from './bounded.js';

/** The server does not know the session. It rejected the request before it had any effect. */
export class UnknownSessionError extends Error {}

/** HTTP status codes for an unknown session: 404 by the specification, the others by common practice. */
const UNKNOWN_SESSION = [400, 404, 410];
/** Timeout in milliseconds for ending the session on the server. */
const MAX_GOODBYE_MS = 1_000;
/** Delays in milliseconds before an event stream is opened again. They double while no message comes. */
const [LEAST_PAUSE_MS, MOST_PAUSE_MS] = [100, 30_000];

type Fetch = NonNullable<StreamableHTTPClientTransportOptions['fetch']>;

/**
 * Extends the SDK's streamable HTTP transport: detects that the server lost the session, fails requests whose event
 * stream broke, and ends the session on the server.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  /**
   * Unanswered requests. Their stream cannot be resumed (`once`), can be resumed (`resumable`), or was cut and waits to
   * be resumed (`cut`).
   */
  readonly #open = new Map<RequestId, 'once' | 'resumable' | 'cut'>();
  /** Delay before the next event stream. The first has none. */
  #pauseMs = 0;
  #closing: Promise<void> | undefined;

  readonly #wait: typeof setTimeout;

  /** @param wait Replaces the timer of the pauses in tests. */
  constructor(url: URL, options: StreamableHTTPClientTransportOptions, wait = setTimeout) {
    super(url, { ...options, fetch: (...request) => this.#fetched(...request) });
    this.#wait = wait;
    // The SDK calls these listeners in addition to its own.
    this.onmessage = (message) => {
      this.#pauseMs = Math.min(this.#pauseMs, LEAST_PAUSE_MS);
      if ('id' in message && !('method' in message) && message.id !== undefined)
        this.#open.delete(message.id);
    };
    this.onerror = ({ message }) => {
      if (message.startsWith('Maximum reconnection attempts')) this.#giveUp();
    };
  }

  override async send(
    message: JSONRPCMessage,
    options: Parameters<StreamableHTTPClientTransport['send']>[1] = {},
  ): Promise<void> {
    const { sessionId } = this;
    const id = isJSONRPCRequest(message) ? message.id : undefined;
    if (id !== undefined) this.#open.set(id, 'once');
    const onresumptiontoken = (token: string) => {
      if (id !== undefined && this.#open.has(id)) this.#open.set(id, 'resumable');
      options.onresumptiontoken?.(token);
    };
    try {
      await super.send(message, { ...options, onresumptiontoken });
    } catch (error) {
      if (id !== undefined) this.#open.delete(id);
      const { code, message: reason } = error as StreamableHTTPError;
      const isUnknown = error instanceof StreamableHTTPError && UNKNOWN_SESSION.includes(code ?? 0);
      if (sessionId === undefined || !isUnknown) throw error;
      throw new UnknownSessionError(reason, { cause: error });
    }
  }

  override close(): Promise<void> {
    this.#closing ??= withinLimit(['The end of a session', 'ms', MAX_GOODBYE_MS], () =>
      this.terminateSession(),
    )
      .catch(() => {})
      .then(() => super.close());
    return this.#closing;
  }

  async #fetched(...[url, init]: Parameters<Fetch>): Promise<Response> {
    if (init?.method === 'GET') {
      const pauseMs = this.#pauseMs;
      this.#pauseMs = Math.min(Math.max(LEAST_PAUSE_MS, pauseMs * 2), MOST_PAUSE_MS);
      if (pauseMs > 0)
        await this.#wait(pauseMs, undefined, { signal: init.signal ?? undefined }).catch(() => {});
      // The SDK opens no stream again after this status.
      if (init.signal?.aborted) return new Response(null, { status: 405 });
    }
    const response = await boundedFetch(url, init);
    // A server without separate event streams cannot resume one.
    if (init?.method === 'GET' && response.status === 405) this.#giveUp();
    const { body } = response;
    const isAnswer = init?.method === 'POST' && response.ok && typeof init.body === 'string';
    if (!isAnswer || body === null || !isEventStream(response)) return response;
    const { id } = JSON.parse(init.body as string) as { readonly id: RequestId };
    return new Response(ReadableStream.from(this.#whole(id, body)), response);
  }

  /**
   * Yields an event stream. If the request has no answer at the end and its stream cannot be resumed, adds an error for
   * the request.
   */
  async *#whole(id: RequestId, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      if (this.#open.get(id) === 'resumable') throw error;
    } finally {
      if (this.#open.get(id) === 'resumable') this.#open.set(id, 'cut');
    }
    // Append the error to the stream, because the last events may not have been read yet.
    if (this.#open.get(id) === 'once')
      yield new TextEncoder().encode(`\n\ndata: ${JSON.stringify(closed(id))}\n\n`);
  }

  #giveUp(): void {
    for (const [id, state] of this.#open) if (state === 'cut') this.onmessage?.(closed(id));
  }
}

/** Fetches with limits for each message. */
export const boundedFetch: Fetch = async (url, init) => {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  if (isEventStream(response))
    return new Response(ReadableStream.from(bounded(response.body, 'event')), response);
  const body = ReadableStream.from(bounded(response.body, 'body'));
  // The method of `Response` decodes all bytes at once.
  return Object.assign(new Response(body, response), { json: async () => JSON.parse(await textOf(body)) });
};

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  let whole = '';
  const decoder = new TextDecoder();
  for await (const piece of body) whole += decoder.decode(piece, { stream: true });
  return whole;
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') ?? false;
}

/** Returns the SDK's error for a request whose connection was closed. */
function closed(id: RequestId) {
  return {
    jsonrpc: '2.0' as const,
    id,
    error: { code: ErrorCode.ConnectionClosed, message: 'Connection closed' },
  };
}
