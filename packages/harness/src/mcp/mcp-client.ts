/** A tool as a server lists it. What a server says is not trusted to have any form beyond its name. */
export interface McpTool {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly annotations?: unknown;
}

/** What a tool of a server answers. */
export interface McpResult {
  readonly content?: unknown;
  readonly structuredContent?: unknown;
  /** What servers of the first protocol answer. */
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
    request: { readonly name: string; readonly arguments?: Record<string, unknown> },
    resultSchema?: undefined,
    options?: McpRequestOptions,
  ): Promise<McpResult>;
  close?(): Promise<void>;
}
