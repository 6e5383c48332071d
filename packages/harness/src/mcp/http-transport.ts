import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** The server does not know the connection's session: it refused the request before it did anything. */
export class UnknownSessionError extends Error {}

/** What a server answers that does not know a session: 404 by the specification, 400 by what many do. */
const UNKNOWN_SESSION = [400, 404];

/** Streamable HTTP by the SDK, which tells a server that forgot the session. */
export class HttpTransport extends StreamableHTTPClientTransport {
  override async send(...request: Parameters<StreamableHTTPClientTransport['send']>): Promise<void> {
    const { sessionId } = this;
    try {
      await super.send(...request);
    } catch (error) {
      const { code, message } = error as StreamableHTTPError;
      const isUnknown = error instanceof StreamableHTTPError && UNKNOWN_SESSION.includes(code ?? 0);
      if (sessionId === undefined || !isUnknown) throw error;
      throw new UnknownSessionError(message, { cause: error });
    }
  }
}
