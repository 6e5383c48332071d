import { setImmediate } from 'node:timers/promises';
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

/** The server does not know the session. It rejected the request before it had any effect. */
export class UnknownSessionError extends Error {}

/** HTTP status codes for an unknown session: 404 by the specification, the others by common practice. */
const UNKNOWN_SESSION = [400, 404, 410];
/** Timeout in milliseconds for ending the session on the server. */
const MAX_GOODBYE_MS = 1_000;

/** Maximum size in bytes of one response, decompressed: a result of the largest size in base64. */
const MAX_BYTES = 32 * 2 ** 20;
/** Maximum number of lines of one event stream. Each event costs time, however small it is. */
const MAX_LINES = 200_000;
/** Lines of an event stream that are parsed before other work has its turn. */
const PIECE_LINES = 50;
const LINE_FEED = 10;
const RETURN = 13;

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
  #closing: Promise<void> | undefined;

  constructor(url: URL, options: StreamableHTTPClientTransportOptions) {
    super(url, { ...options, fetch: (...request) => this.#fetched(...request) });
    // The SDK calls these listeners in addition to its own.
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

/** Fetches with limits. A stream without a question has no end, so only its longest line is limited. */
export const boundedFetch: Fetch = async (url, init) => {
  const response = await fetch(url, init);
  if (response.body === null) return response;
  const isStream = isEventStream(response);
  const body = bounded(response.body, isStream, isStream && init?.method !== 'POST');
  return new Response(ReadableStream.from(body), response);
};

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') ?? false;
}

/** Yields a body, and an event stream in pieces of few lines, between which other work has its turn. Fails if it becomes too large. */
async function* bounded(
  body: AsyncIterable<Uint8Array>,
  isStream: boolean,
  isEndless: boolean,
): AsyncGenerator<Uint8Array> {
  let [bytes, lines] = [0, 0];
  for await (const chunk of body) {
    let begin = 0;
    for (let at = 0; isStream && at < chunk.length; at++) {
      const isLine = chunk[at] === LINE_FEED || (chunk[at] === RETURN && chunk[at + 1] !== LINE_FEED);
      if (!isLine) continue;
      if (isEndless) bytes = 0;
      if (++lines % PIECE_LINES !== 0) continue;
      yield chunk.subarray(begin, at + 1);
      begin = at + 1;
      await setImmediate();
      if (lines >= MAX_LINES && !isEndless) throw new Error(`An answer has more than ${MAX_LINES} lines.`);
    }
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`An answer has more than ${MAX_BYTES} bytes.`);
    yield chunk.subarray(begin);
  }
}

/** Returns the SDK's error for a request whose connection was closed. */
function closed(id: RequestId) {
  return {
    jsonrpc: '2.0' as const,
    id,
    error: { code: ErrorCode.ConnectionClosed, message: 'Connection closed' },
  };
}
