import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { XError } from '@x/core';
import { UnknownSessionError } from './http-transport.js';

export type McpServerErrorCode =
  | 'mcp_unavailable'
  | 'mcp_unauthorized'
  | 'mcp_lost'
  | 'mcp_timeout'
  | 'mcp_tool_failed';

/**
 * An MCP server failed: it is unreachable, requires authorization, disconnected, timed out, or reported that a tool
 * failed.
 *
 * @code mcp_unavailable The server cannot be reached. Do: Check its address or command, and its standard error.
 * @code mcp_unauthorized A user must sign in first. Do: Open the address that your `authProvider` received. After the sign-in, call the SDK's `auth(authProvider, { serverUrl, authorizationCode })`.
 * @code mcp_lost The connection broke during a call, which may have taken effect. Do: Check the effect before you repeat the call.
 * @code mcp_timeout The call took longer than `callTimeoutMs`, and may have taken effect. Do: Check whether it did before you repeat the
 * call, or raise the limit.
 * @code mcp_tool_failed The server answered that the tool failed. Do: Read the message, which the model gets as well.
 */
export class McpServerError extends XError {
  static override readonly brand = 'McpServerError';
  /** The server's name in the configuration. */
  readonly server: string;
  /** `unknown` if the call may have taken effect, because the server timed out or disconnected during the call. */
  readonly outcome: 'none' | 'unknown';

  constructor(code: McpServerErrorCode, server: string, message: string, options: { cause?: unknown } = {}) {
    super(code, message, options);
    this.server = server;
    this.outcome = code === 'mcp_lost' || code === 'mcp_timeout' ? 'unknown' : 'none';
  }
}

/**
 * The kind of a failed request: the server never received it (`unsent`), no longer knows the session (`forgotten`),
 * requires authorization by a user (`unauthorized`), disconnected while it may have been processing it (`lost`),
 * rejected it with an HTTP status (`refused`), or answered with an error (`answered`).
 */
type FailureKind = 'unsent' | 'forgotten' | 'unauthorized' | 'lost' | 'refused' | 'answered';

/** JSON-RPC code that the SDK uses for a closed connection. Servers use the same code for their own errors. */
const CONNECTION_CLOSED = -32_000;
const CLOSED_WORDS = /: (?:connection closed|request was cancelled)$/i;
const UNREACHED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EPIPE']);
const BROKEN = new Set([
  'ECONNRESET',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

const MAX_CAUSES = 5;

export function failureKind(error: unknown): FailureKind {
  const messages: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth++) {
    const { code } = current as { readonly code?: unknown };
    if (code === CONNECTION_CLOSED && CLOSED_WORDS.test(current.message)) return 'lost';
    if (current instanceof UnauthorizedError) return 'unauthorized';
    if (current instanceof UnknownSessionError) return 'forgotten';
    // No server exists at the address, or the server does not know the session of a given client.
    if (code === 404 && current.message.startsWith('Streamable HTTP error')) return 'unsent';
    if (current instanceof StreamableHTTPError) return 'refused';
    if (typeof code === 'string' && UNREACHED.has(code)) return 'unsent';
    if (typeof code === 'string' && BROKEN.has(code)) return 'lost';
    messages.push(current.message);
    current = current.cause;
  }
  if (messages.some((message) => /^not connected$/i.test(message))) return 'unsent';
  return messages.some((message) => /fetch failed|terminated|socket hang up/i.test(message))
    ? 'lost'
    : 'answered';
}
