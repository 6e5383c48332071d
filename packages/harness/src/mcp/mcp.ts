import { setImmediate, setTimeout } from 'node:timers/promises';
import {
  type Capability,
  type JsonValue,
  OutcomeUnknownError,
  readText,
  SessionKey,
  type Tool,
  type ToolScope,
  textOf,
} from '@x/core';
import {
  type Clock,
  encodeSegment,
  errorText,
  type FileCapability,
  fileCapability,
  headOf,
  jsonText,
  turnTaker,
} from '@x/core/internal';
import { sessionPrefix } from '@x/core/store';
import { matchWildcard } from '../lib/wildcard.js';
import type { McpProgress, McpResult } from './mcp-client.js';
import { type McpConfig, type McpSettings, mcpConfigSchema, parseMcpConfig } from './mcp-config.js';
import { McpServerError } from './mcp-server-error.js';
import { type ListedTools, ServerConnection } from './server-connection.js';
import { toOutput, toolNames, toTool } from './to-tool.js';

export interface McpOptions {
  /** Values for `${NAME}` in the configuration. Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  /** Returns the `_meta` of each tool call. With `traceContext` of `@x/harness/telemetry`, servers can join the trace. */
  readonly requestMeta?: () => Record<string, string>;
}

interface Server {
  readonly name: string;
  readonly connection: ServerConnection;
  tools: readonly Tool[];
  /** Number of times that the tool list was requested. */
  asked: number;
}

/**
 * Connects to MCP servers and adds their tools, named `mcp__server__tool` and sorted. The descriptions of tools by a
 * server are trusted only if the server is `trusted`. Results are limited in size. A server that dies is restarted for
 * the next call. If a server adds or removes tools, a running call sees the change in its next step.
 *
 * Strings of the configuration may contain `${NAME}`, so that secrets come from the environment. Messages never show
 * these values.
 *
 * @example
 * ```ts
 * import { HarnessAgent } from '@x/harness';
 * import { mcp } from '@x/harness/mcp';
 *
 * const files = await mcp({
 *   servers: { files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] } },
 * });
 * const agent = HarnessAgent.builder().model(model).use(files).build();
 * ```
 * @throws {InvalidInputError} for a malformed configuration, or a variable that is not set.
 * @throws {McpServerError} when a required server cannot be reached.
 */
export async function mcp(config: McpConfig, options: McpOptions = {}): Promise<Capability> {
  // Long because its functions share the servers and their lists.
  const { environment = process.env, clock, requestMeta } = options;
  const { settings, redact } = parseMcpConfig(config, environment);
  const warnings: string[] = [];
  const outdated = new Set<Server>();
  /**
   * Servers that announced a change of their tool list, or were restarted. A server may announce one after every request, so its list is
   * read at most once per step.
   */
  const changed = new Set<Server>();
  const servers = Object.entries(settings.servers).map(([name, server]): Server => {
    const connection: ServerConnection = new ServerConnection({
      ...{ name, server, settings, redact, clock, requestMeta },
      began: () => changed.add(entry),
      toolsChanged: () => changed.add(entry),
    });
    const entry: Server = { name, connection, tools: [], asked: 0 };
    return entry;
  });
  let tools: readonly Tool[] = [];
  const refresh = async (server: Server): Promise<void> => {
    outdated.delete(server);
    server.asked += 1;
    const { asked } = server;
    const { tools: patterns } = settings.servers[server.name] ?? {};
    const listed = await server.connection
      .listTools((name) => patterns?.some((pattern) => matchWildcard(pattern, name)) ?? true)
      .catch((error: unknown) => {
        outdated.add(server);
        throw error;
      });
    // Ignore the answer if a later request was sent meanwhile.
    if (asked !== server.asked) return;
    const found = await offered(server, listed, settings, redact, (message) =>
      warnings.push(redact(message)),
    );
    if (asked !== server.asked) return;
    server.tools = found;
    tools = servers.flatMap((each) => each.tools);
  };
  /** Reads changed lists. Waits briefly for them, so that the next step can use them. */
  const listed = async (): Promise<void> => {
    if (changed.size === 0) return;
    const listing = [...changed].map((server) => refresh(server).catch(() => {}));
    changed.clear();
    await Promise.race([Promise.all(listing), setTimeout(MAX_LISTING_MS, undefined, { ref: false })]);
  };
  const close = async (): Promise<void> => {
    await Promise.all(servers.map(({ connection }) => connection.close()));
  };

  const begun = await Promise.allSettled(servers.map(refresh));
  for (const [index, result] of begun.entries()) {
    const server = servers[index];
    if (result.status === 'fulfilled' || server === undefined) continue;
    if (settings.servers[server.name]?.required !== false) {
      await close();
      throw result.reason;
    }
    warnings.push(errorText(result.reason));
  }

  return {
    name: 'mcp',
    get tools() {
      return tools;
    },
    async aroundCall(scope, next) {
      for (const message of warnings.splice(0)) scope.emit({ type: 'warning', source: 'mcp', message });
      // A client of your own announces no changes.
      for (const server of servers) if (settings.servers[server.name]?.client) changed.add(server);
      await listed();
      for (const server of outdated) {
        if (!server.connection.mayConnect) continue;
        scope.background('mcp', () => refresh(server));
      }
      await next();
    },
    authorize: pins.authorize,
    async aroundTool(call, scope, next) {
      const result = await pins.aroundTool(call, scope, next);
      // A change of the tool list may have arrived together with the answer. Process it first.
      if (call.name.startsWith('mcp__')) await setImmediate();
      await listed();
      return result;
    },
    close,
  };
}

/**
 * Asks for approval if a server changed a tool since it was last used, and stores the fingerprint of the approved tool.
 */
const pins: Required<Pick<Capability, 'authorize' | 'aroundTool'>> = {
  async authorize({ name }, scope) {
    const fingerprint = scope.tool?.fingerprint;
    const known = fingerprint && (await pinned(name, scope));
    if (known === undefined || known === fingerprint) return undefined;
    return { type: 'ask', reason: `The server changed ${name} since it was last used.` };
  },
  async aroundTool(call, scope, next) {
    const { tool, storage } = scope;
    // The tool was approved with this fingerprint, even if the server has changed its list since.
    const fingerprint = tool?.fingerprint;
    if (fingerprint !== undefined && (await pinned(call.name, scope)) !== fingerprint) {
      await storage.write(pinOf(call.name, scope), fingerprint);
    }
    return next(call);
  },
};

/** Returns the fingerprint of a tool at its last use in this session by this agent or one of its subagents. */
async function pinned(name: string, scope: ToolScope): Promise<string | undefined> {
  const pin = pinOf(name, scope);
  return (await scope.storage.stat(pin)) && readText(scope.storage, pin);
}

function pinOf(name: string, { agentId, state: { tenantId, userId, sessionId } }: ToolScope): string {
  const key = SessionKey.of({ tenantId, userId, agentId: agentId.split('/', 1)[0] || agentId, sessionId });
  return `${sessionPrefix(key)}mcp/${encodeSegment(name)}`;
}

/** Maximum time in milliseconds that a step waits for a changed list. */
const MAX_LISTING_MS = 1_000;

/** Returns the tools that the agent gets from one server, in a stable order that keeps the prompt cache valid. */
async function offered(
  { name: server, connection }: Server,
  { tools: listed, nameless, isWhole }: ListedTools,
  settings: McpSettings,
  redact: (text: string) => string,
  warn: (message: string) => void,
): Promise<readonly Tool[]> {
  const { trusted = false } = settings.servers[server] ?? {};
  const sorted = [...new Map(listed.map((tool) => [tool.name, tool])).values()].sort((left, right) =>
    left.name < right.name ? -1 : 1,
  );
  if (nameless > 0) warn(`MCP server "${server}" lists ${nameless} tools without a name. They are left out.`);
  if (!isWhole || sorted.length > settings.maxTools) {
    warn(
      `MCP server "${server}" has more tools than the ${Math.min(sorted.length, settings.maxTools)} that are offered. ` +
        'Select some of its tools with "tools", or raise maxTools.',
    );
  }
  let room = settings.maxSchemaChars;
  const kept = sorted.slice(0, settings.maxTools).filter((tool) => {
    const { length } = jsonText([tool.description, tool.inputSchema] as JsonValue);
    const fits = length <= room;
    if (fits) room -= length;
    else
      warn(
        `Tool "${headOf(tool.name, 100)}" of MCP server "${server}" is left out: the tool schemas of one server may have at most ` +
          `${settings.maxSchemaChars} characters. Choose some of its tools, or raise maxSchemaChars.`,
      );
    return fits;
  });
  const names = toolNames(
    server,
    kept.map((tool) => tool.name),
  );
  const giveWay = turnTaker();
  const tools: Tool[] = [];
  for (const tool of kept) {
    await giveWay();
    try {
      tools.push(
        toTool(names.get(tool.name) ?? tool.name, tool, trusted, async (input, { signal, onUpdate }) => {
          const onProgress =
            onUpdate &&
            ((progress: McpProgress) => onUpdate([{ type: 'text', text: textOfProgress(progress) }]));
          const result = await connection.callTool(tool.name, { ...input }, signal, onProgress);
          const output = outputOf(result, settings);
          if (result.isError !== true) return output;
          throw new McpServerError(
            'mcp_tool_failed',
            server,
            redact(textOf([...output])) || 'The tool failed and did not say why.',
          );
        }),
      );
    } catch (error) {
      warn(`Tool "${headOf(tool.name, 100)}" of MCP server "${server}" is left out: ${errorText(error)}`);
    }
  }
  return tools;
}

/** @throws {OutcomeUnknownError} if the answer cannot be read, because the tool may have run. */
function outputOf(result: McpResult, settings: McpSettings): ReturnType<typeof toOutput> {
  try {
    return toOutput(result, settings);
  } catch (cause) {
    const text = `The tool ran, but its result cannot be read: ${errorText(cause)}`;
    throw new OutcomeUnknownError(`${text}. Check the effect before you repeat the call.`, { cause });
  }
}

/** Maximum number of characters of a progress message. */
const MAX_PROGRESS_CHARS = 500;

function textOfProgress({ progress, total, message = '' }: McpProgress): string {
  const count = total === undefined ? `${progress}` : `${progress}/${total}`;
  return headOf(`${count} ${message}`.trim(), MAX_PROGRESS_CHARS);
}

/** Returns the capability `mcp` for configuration files, to register in a `CapabilityRegistry`. */
export function mcpCapability(options: McpOptions = {}): FileCapability {
  return fileCapability('mcp', mcpConfigSchema, (config) => mcp(config, options));
}
