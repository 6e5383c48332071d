import {
  type AgentEventBody,
  type Capability,
  callable,
  having,
  type Part,
  parseWith,
  type RuntimeIdentity,
  type ToolResultBlock,
  tell,
  type Workspace,
} from '@x/core';
import * as z from 'zod';
import { toolOutput } from './from-message.js';
import { readFileTool } from './read-file-tool.js';
import { outputBlocks } from './to-message.js';
import { toolScope } from './tool-scope.js';

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
  /** Told what was evicted (`tool.evicted`), and what could not be (`warning`). */
  onEvent: z.optional(callable<(event: AgentEventBody) => void>()),
});

export type EvictingToolsOptions = Readonly<z.input<typeof optionsSchema>>;

/**
 * A tool set whose large outputs the model sees as their size, head, tail and a path; the whole text lies in the
 * workspace. What the tools return stays whole for the application (`toolResults`, UI messages): only what the model is
 * told of it changes. A provider's own tools (web search, shell) stay as they are: the provider takes their results in
 * its own form alone. `read_file`, with which the model reads a text back in parts, is added unless there is one.
 *
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
      output: outputBlocks(output),
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

/** What the model would have been told. */
async function modelOutput(tool: SdkTool, call: ModelOutputCall): Promise<Part> {
  const { toModelOutput } = tool;
  if (typeof toModelOutput === 'function') return (await toModelOutput.call(tool, call)) as Part;
  const { output } = call;
  return typeof output === 'string'
    ? { type: 'text', value: output }
    : { type: 'json', value: output === undefined ? null : output };
}
