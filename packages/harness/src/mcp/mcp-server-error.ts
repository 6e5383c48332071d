import { hasBrand, XError } from '@x/core';

export type McpServerErrorCode = 'mcp_unavailable' | 'mcp_lost' | 'mcp_timeout' | 'mcp_tool_failed';

/** A server could not be reached, went away, took too long, or answered that a tool failed. */
export class McpServerError extends XError {
  /** Its name in the configuration. */
  readonly server: string;

  constructor(code: McpServerErrorCode, server: string, message: string, options: { cause?: unknown } = {}) {
    super(code, message, { cause: options.cause, brands: ['McpServerError'] });
    this.server = server;
  }

  static override isInstance(error: unknown): error is McpServerError {
    return hasBrand(error, 'McpServerError');
  }
}
