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

/** The server does not know the connection's session: it refused the request before it did anything. */
export class UnknownSessionError extends Error {}

/** What a server answers that does not know a session: 404 by the specification, the others by what many do. */
const UNKNOWN_SESSION = [400, 404, 410];
/** Milliseconds that a server has to take note of the end of its session. */
const MAX_GOODBYE_MS = 1_000;

type Fetch = NonNullable<StreamableHTTPClientTransportOptions['fetch']>;

/**
 * Streamable HTTP of the SDK, with what it lacks: it detects a server that lost the session, fails requests whose stream of events
 * broke off, and ends its session at the server.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  /** Requests without an answer, and whether their stream can be resumed, or waits for it. */
  readonly #open = new Map<RequestId, 'once' | 'resumable' | 'cut'>();
  #closing: Promise<void> | undefined;

  constructor(url: URL, options: StreamableHTTPClientTransportOptions) {
    super(url, { ...options, fetch: (...request) => this.#fetched(...request) });
    // The SDK keeps these listeners beside its own.
    this.onmessage = (message) => {
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
      const { code, message: said } = error as StreamableHTTPError;
      const isUnknown = error instanceof StreamableHTTPError && UNKNOWN_SESSION.includes(code ?? 0);
      if (sessionId === undefined || !isUnknown) throw error;
      throw new UnknownSessionError(said, { cause: error });
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
    const response = await fetch(url, init);
    // A server that offers no streams beside its answers resumes none.
    if (init?.method === 'GET' && response.status === 405) this.#giveUp();
    const { body, headers } = response;
    const isAnswer = init?.method === 'POST' && response.ok && typeof init.body === 'string';
    if (!isAnswer || body === null || !headers.get('content-type')?.startsWith('text/event-stream'))
      return response;
    const { id } = JSON.parse(init.body as string) as { readonly id: RequestId };
    return new Response(ReadableStream.from(this.#whole(id, body)), response);
  }

  /** A stream of events, with an error for the request at its end where that has no answer by then, nor will get one. */
  async *#whole(id: RequestId, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      if (this.#open.get(id) === 'resumable') throw error;
    } finally {
      if (this.#open.get(id) === 'resumable') this.#open.set(id, 'cut');
    }
    // Behind what came last, which may be read only now.
    if (this.#open.get(id) === 'once')
      yield new TextEncoder().encode(`\n\ndata: ${JSON.stringify(closed(id))}\n\n`);
  }

  #giveUp(): void {
    for (const [id, state] of this.#open) if (state === 'cut') this.onmessage?.(closed(id));
  }
}

/** What the SDK says to a request whose connection was closed. */
function closed(id: RequestId) {
  return {
    jsonrpc: '2.0' as const,
    id,
    error: { code: ErrorCode.ConnectionClosed, message: 'Connection closed' },
  };
}
