import {
  type AgentEventBody,
  AgentState,
  type Capability,
  CapabilityError,
  RuntimeContext,
  readText,
  type ToolResultBlock,
  type ToolScope,
  type Workspace,
  WorkspaceError,
} from '@x/core';
import { callable, having, headOf, parseWith, type RuntimeIdentity, tell } from '@x/core/internal';
import type { Part } from '@x/core/messages';
import { aiSdkOutput } from '@x/core/messages';
import * as z from 'zod';
import { toolOutput } from './sdk-message.js';

/** A tool of the AI SDK as far as it is read here. */
export interface SdkTool {
  readonly type?: unknown;
  readonly toModelOutput?: unknown;
}

const optionsSchema = z.strictObject({
  /** Where texts are written. Give it to one user or session alone: the tool that reads them back reads all of it. */
  workspace: having<Workspace>('write', 'a Workspace'),
  /** What decides and writes: `toolResultEviction()` of `@x/compaction`, or any capability with `aroundTool`. */
  eviction: having<Capability>('aroundTool', 'a capability with aroundTool, such as toolResultEviction()'),
  /** Whose session it is, for the paths. Default: session `default` of nobody. */
  session: z.custom<RuntimeIdentity>((value) => typeof value === 'object').optional(),
  /** Receives what was evicted (`tool.evicted`), and what could not be (`warning`). */
  onEvent: z.optional(callable<(event: AgentEventBody) => void>()),
});

export type EvictingToolsOptions = Readonly<z.input<typeof optionsSchema>>;

/**
 * A tool set whose large outputs the model sees as their size, head, tail and a path; the whole text is in the
 * workspace. What the tools return stays whole for the application (`toolResults`, UI messages): only what the model is
 * told of it changes. A provider's own tools (web search, shell) stay as they are: the provider takes their results in
 * its own form alone. `read_file`, with which the model reads a text back in parts, is added unless there is one.
 *
 * @example
 * ```ts
 * const tools = evictingTools({ fetchPage }, { workspace, eviction: toolResultEviction() });
 * ```
 * @throws {InvalidInputError} for options that do not fit.
 */
export function evictingTools<Tools extends { readonly [name: string]: SdkTool }>(
  tools: Tools,
  options: EvictingToolsOptions,
): Tools & { readonly read_file: ReturnType<typeof readFileTool> } {
  const { workspace, eviction, session, onEvent } = parseWith(
    optionsSchema,
    options,
    'evictingTools options',
  );
  const scope = toolScope(workspace, session ?? {}, (event) => tell('onEvent', onEvent, event));

  async function evicted(name: string, call: ModelOutputCall, output: Part): Promise<Part> {
    const use = { type: 'tool_use', id: call.toolCallId, name, input: null } as const;
    const result: ToolResultBlock = {
      type: 'tool_result',
      toolUseId: call.toolCallId,
      toolName: name,
      output: aiSdkOutput(output),
      isError: output.type.startsWith('error'),
    };
    const seen = await (eviction.aroundTool?.(use, scope, async () => result) ?? result);
    return seen === result ? output : toolOutput(seen, output);
  }

  const wrapped = Object.entries(tools).map(([name, tool]) => [
    name,
    isProviders(tool)
      ? tool
      : Object.assign(Object.create(Object.getPrototypeOf(tool) as object) as object, tool, {
          toModelOutput: async (call: ModelOutputCall) => evicted(name, call, await modelOutput(tool, call)),
        }),
  ]);
  return { read_file: readFileTool(workspace), ...Object.fromEntries(wrapped) } as ReturnType<
    typeof evictingTools<Tools>
  >;
}

/** Whether a tool is the provider's, in the words of version 5 of the SDK or later. */
function isProviders({ type }: SdkTool): boolean {
  return type === 'provider' || type === 'provider-defined';
}

interface ModelOutputCall {
  readonly toolCallId: string;
  readonly input: unknown;
  readonly output: unknown;
}

/** The result as the model would have read it. */
async function modelOutput(tool: SdkTool, call: ModelOutputCall): Promise<Part> {
  const { toModelOutput } = tool;
  if (typeof toModelOutput === 'function') return (await toModelOutput.call(tool, call)) as Part;
  const { output } = call;
  return typeof output === 'string'
    ? { type: 'text', value: output }
    : { type: 'json', value: output === undefined ? null : output };
}

const MAX_CHARS = 20_000;

const inputSchema = z.object({
  path: z.string().describe('The path that a result names'),
  line: z.int().min(1).default(1).describe('The first line to read, from 1'),
  lines: z.int().min(1).max(2_000).default(200).describe('How many lines to read'),
  column: z.int().min(1).default(1).describe('Where in the first line to begin, from 1: for very long lines'),
});

/** A tool of the AI SDK that reads a text of the workspace back, by lines and within a line. */
function readFileTool(workspace: Pick<Workspace, 'read'>) {
  return {
    description:
      'Reads a part of a file: results that were too long are kept in files. ' +
      `At most ${MAX_CHARS} characters at once; the answer says how to read on.`,
    inputSchema,
    execute: async (input: z.output<typeof inputSchema>): Promise<string> => {
      try {
        return page(await readText(workspace, input.path), input);
      } catch (error) {
        if (WorkspaceError.isInstance(error)) return `Cannot read ${input.path}: ${error.message}`;
        throw error;
      }
    },
  };
}

function page(text: string, { line, lines, column }: z.output<typeof inputSchema>): string {
  const all = text.split('\n');
  if (line > all.length) return `The file has ${all.length} lines.`;
  const wanted = all.slice(line - 1, line - 1 + lines);
  wanted[0] = (wanted[0] ?? '').slice(column - 1);
  const joined = wanted.join('\n');
  const shown = headOf(joined, MAX_CHARS);
  const whole = shown.length === joined.length;
  const next = line + shown.split('\n').length - (whole ? 0 : 1);
  if (whole && next > all.length) return shown;
  // Where the text breaks off within a line, that line continues at the next column.
  const within = shown.length - (shown.lastIndexOf('\n') + 1);
  const nextColumn = whole ? 1 : within + (next === line ? column : 1);
  const hint = `line ${next}${nextColumn === 1 ? '' : `, column ${nextColumn}`}`;
  return `${shown}\n[… the file has ${all.length} lines: read on from ${hint}]`;
}

const AGENT = 'ai-sdk';

/** A tool call as a capability sees it in an agent of the AI SDK, which has none of our models, logs or stores. */
function toolScope(
  workspace: Workspace,
  identity: RuntimeIdentity,
  emit: (event: AgentEventBody) => void,
): ToolScope {
  const { tenantId, userId, sessionId = 'default' } = identity;
  const absent = (what: string) => {
    throw new CapabilityError(what, `Tools of the AI SDK run without ${what}.`);
  };
  return {
    agentId: AGENT,
    callId: AGENT,
    tool: undefined,
    workspace,
    storage: workspace,
    emit,
    runtime: RuntimeContext.of({ tenantId, userId, sessionId }),
    state: AgentState.create({ tenantId, userId, sessionId }),
    signal: new AbortController().signal,
    model: { id: AGENT, generate: async () => absent('model') },
    log: {
      location: '',
      append: async () => absent('log'),
      read: () => absent('log'),
      get: async () => absent('log'),
    },
    checkpoint: async () => {},
    background: () => absent('background queue'),
  };
}
