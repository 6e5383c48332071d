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
} from '@x/core/internal';
import { sessionPrefix } from '@x/core/store';
import { matchWildcard } from '../lib/wildcard.js';
import type { McpProgress, McpResult } from './mcp-client.js';
import { type McpConfig, type McpSettings, mcpConfigSchema, parseMcpConfig } from './mcp-config.js';
import { McpServerError } from './mcp-server-error.js';
import { type ListedTools, ServerConnection } from './server-connection.js';
import { toOutput, toolNames, toTool } from './to-tool.js';

export interface McpOptions {
  /** Values of `${NAME}` in the configuration. Default: `process.env`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  /** Makes the `_meta` of each tool call: `traceContext` of `@x/harness/telemetry` lets servers join the trace. */
  readonly requestMeta?: () => Record<string, string>;
}

interface Server {
  readonly name: string;
  readonly connection: ServerConnection;
  tools: readonly Tool[];
  /** How often its list was asked for. */
  asked: number;
  /** The list that was asked for last, after the server said that it changed. */
  listing: Promise<void>;
}

/**
 * Connects to MCP servers and brings their tools, named `mcp__server__tool`, sorted. What a server says of its
 * tools is believed only if it is `trusted`; what it sends is bounded, and a server that dies is started again for the next
 * call. Tools that a server adds or takes away are there, or gone, from the next step of a running call on.
 *
 * Strings of the configuration may hold `${NAME}`: secrets come from the environment, and no message shows them.
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
  const servers = Object.entries(settings.servers).map(([name, server]): Server => {
    const connection: ServerConnection = new ServerConnection({
      ...{ name, server, settings, redact, clock, requestMeta },
      began: () => outdated.add(entry),
      toolsChanged() {
        entry.listing = refresh(entry).catch(() => void outdated.add(entry));
      },
    });
    const entry: Server = { name, connection, tools: [], asked: 0, listing: Promise.resolve() };
    return entry;
  });
  let tools: readonly Tool[] = [];
  const refresh = async (server: Server): Promise<void> => {
    outdated.delete(server);
    server.asked += 1;
    const { asked } = server;
    const { tools: patterns } = settings.servers[server.name] ?? {};
    const listed = await server.connection.listTools(
      (name) => patterns?.some((pattern) => matchWildcard(pattern, name)) ?? true,
    );
    // An answer that took longer than the one to a later question is older.
    if (asked !== server.asked) return;
    server.tools = offered(server, listed, settings, redact, (message) => warnings.push(redact(message)));
    tools = servers.flatMap((each) => each.tools);
  };
  /** Waits a moment for lists that changed: the next step has them. */
  const listed = () =>
    Promise.race([
      Promise.all(servers.map(({ listing }) => listing)),
      setTimeout(MAX_LISTING_MS, undefined, { ref: false }),
    ]);
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
    outdated.add(server);
    warnings.push(errorText(result.reason));
  }

  return {
    name: 'mcp',
    get tools() {
      return tools;
    },
    async aroundCall(scope, next) {
      for (const message of warnings.splice(0)) scope.emit({ type: 'warning', source: 'mcp', message });
      await listed();
      for (const server of outdated) {
        if (!server.connection.mayConnect) continue;
        scope.background('mcp', () =>
          refresh(server).catch((error: unknown) => {
            outdated.add(server);
            throw error;
          }),
        );
      }
      await next();
    },
    authorize: pins.authorize,
    async aroundTool(call, scope, next) {
      const result = await pins.aroundTool(call, scope, next);
      if (!call.name.startsWith('mcp__')) return result;
      // What the server says of its list beside the answer is heard now.
      await setImmediate();
      await listed();
      return result;
    },
    close,
  };
}

/** Asks about a tool that its server changed since it was last used, and remembers the one that was approved. */
const pins: Required<Pick<Capability, 'authorize' | 'aroundTool'>> = {
  async authorize({ name }, scope) {
    const fingerprint = scope.tool?.fingerprint;
    const known = fingerprint && (await pinned(name, scope));
    if (known === undefined || known === fingerprint) return undefined;
    return { type: 'ask', reason: `The server changed ${name} since it was last used.` };
  },
  async aroundTool(call, scope, next) {
    const { tool, storage } = scope;
    // It was approved as it is now, by a human or by a rule: also where the server has changed its list since.
    const fingerprint = tool?.fingerprint;
    if (fingerprint !== undefined && (await pinned(call.name, scope)) !== fingerprint) {
      await storage.write(pinOf(call.name, scope), fingerprint);
    }
    return next(call);
  },
};

/** The fingerprint of a tool when this agent, or a subagent of it, last used it for the user. */
async function pinned(name: string, scope: ToolScope): Promise<string | undefined> {
  const pin = pinOf(name, scope);
  return (await scope.storage.stat(pin)) && readText(scope.storage, pin);
}

function pinOf(name: string, { agentId, state: { tenantId, userId, sessionId } }: ToolScope): string {
  const key = SessionKey.of({ tenantId, userId, agentId: agentId.split('/', 1)[0] || agentId, sessionId });
  return `${sessionPrefix(key)}mcp/${encodeSegment(name)}`;
}

/** Milliseconds that a step waits for a list that changed. */
const MAX_LISTING_MS = 1_000;
/** Milliseconds in which the schemas of a server are compiled and tried, which blocks the process. */
const MAX_CHECK_MS = 2_000;

/** The tools of one server that the agent gets, always in the same order: a changed order costs the prompt cache. */
function offered(
  { name: server, connection }: Server,
  { tools: listed, nameless, isWhole }: ListedTools,
  settings: McpSettings,
  redact: (text: string) => string,
  warn: (message: string) => void,
): readonly Tool[] {
  const { trusted = false } = settings.servers[server] ?? {};
  const sorted = [...new Map(listed.map((tool) => [tool.name, tool])).values()].sort((left, right) =>
    left.name < right.name ? -1 : 1,
  );
  if (nameless > 0) warn(`MCP server "${server}" lists ${nameless} tools without a name. They are left out.`);
  if (!isWhole || sorted.length > settings.maxTools) {
    warn(
      `MCP server "${server}" has more tools than the ${Math.min(sorted.length, settings.maxTools)} that are offered. ` +
        'Choose some of its tools by "tools", or raise maxTools.',
    );
  }
  let room = settings.maxSchemaChars;
  const kept = sorted.slice(0, settings.maxTools).filter((tool) => {
    const { length } = jsonText([tool.description, tool.inputSchema] as JsonValue);
    if (length <= room) room -= length;
    else {
      warn(
        `Tool "${headOf(tool.name, 100)}" of MCP server "${server}" is left out: the schemas of one server may have ` +
          `${settings.maxSchemaChars} characters. Choose some of its tools, or raise maxSchemaChars.`,
      );
      return false;
    }
    return true;
  });
  const names = toolNames(
    server,
    kept.map((tool) => tool.name),
  );
  let spentMs = 0;
  return kept.flatMap((tool): readonly Tool[] => {
    const began = process.cpuUsage();
    try {
      if (spentMs > MAX_CHECK_MS) throw new Error('the schemas before it took too long to be checked');
      return [
        toTool(names.get(tool.name) ?? tool.name, tool, trusted, async (input, { signal, onUpdate }) => {
          const tell =
            onUpdate &&
            ((progress: McpProgress) => onUpdate([{ type: 'text', text: textOfProgress(progress) }]));
          const result = await connection.callTool(tool.name, { ...input }, signal, tell);
          const output = outputOf(result, settings);
          if (result.isError !== true) return output;
          throw new McpServerError(
            'mcp_tool_failed',
            server,
            redact(textOf([...output])) || 'The tool failed and did not say why.',
          );
        }),
      ];
    } catch (error) {
      warn(`Tool "${headOf(tool.name, 100)}" of MCP server "${server}" is left out: ${errorText(error)}`);
      return [];
    } finally {
      const { user, system } = process.cpuUsage(began);
      spentMs += (user + system) / 1_000;
    }
  });
}

/** @throws {OutcomeUnknownError} when the answer is none: the tool ran all the same. */
function outputOf(result: McpResult, settings: McpSettings): ReturnType<typeof toOutput> {
  try {
    return toOutput(result, settings);
  } catch (cause) {
    throw new OutcomeUnknownError(`The answer of the server cannot be read: ${errorText(cause)}`, { cause });
  }
}

/** Characters of what a server says on its progress. */
const MAX_PROGRESS_CHARS = 500;

function textOfProgress({ progress, total, message = '' }: McpProgress): string {
  const count = total === undefined ? `${progress}` : `${progress}/${total}`;
  return headOf(`${count} ${message}`.trim(), MAX_PROGRESS_CHARS);
}

/** `mcp`, for files: to be registered in a `CapabilityRegistry`. */
export function mcpCapability(options: McpOptions = {}): FileCapability {
  return fileCapability('mcp', mcpConfigSchema, (config) => mcp(config, options));
}
