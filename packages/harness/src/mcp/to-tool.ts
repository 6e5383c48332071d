import { defineTool, headOf, InvalidInputError, type JsonObject, type Tool, type ToolContext } from '@x/core';
import type { McpTool } from './mcp-client.js';

const MAX_DESCRIPTION_CHARS = 8_000;
const MAX_SCHEMA_CHARS = 50_000;

/** Runs the tool at its server. */
type Call = (input: JsonObject, context: ToolContext) => ReturnType<Tool['run']>;

/**
 * A tool of a server as a tool of the agent. Its input is checked here where the schema can be compiled here; else only
 * by the server.
 *
 * @throws {InvalidInputError} for a schema that no model could be given.
 */
export function toTool(name: string, tool: McpTool, trustAnnotations: boolean, call: Call): Tool {
  const inputSchema = schemaOf(tool);
  const hints = trustAnnotations && isRecord(tool.annotations) ? tool.annotations : {};
  const readOnly = hints.readOnlyHint === true;
  const options = {
    name,
    description: headOf(descriptionOf(tool), MAX_DESCRIPTION_CHARS),
    readOnly,
    ...(hints.destructiveHint === true && !readOnly ? { destructive: true } : {}),
    // The server's own limit is kept where it is called.
    timeoutMs: 0,
  };
  // What is sent is what the model wrote: checking it must not change it.
  const run = (context: ToolContext) => call(context.call.input as JsonObject, context);
  try {
    const checked = defineTool({
      ...options,
      input: inputSchema,
      execute: async (_, context) => [...(await run(context))],
    });
    return { ...checked, definition: { ...checked.definition, inputSchema } };
  } catch (error) {
    if (!InvalidInputError.isInstance(error)) throw error;
    const { name: _, description, ...rest } = options;
    return {
      ...rest,
      definition: { name, description, inputSchema },
      run: (_input, context) => run(context),
    };
  }
}

function schemaOf({ name, inputSchema }: McpTool): JsonObject {
  const problem = (message: string) =>
    new InvalidInputError(`tool ${name}`, [{ path: 'inputSchema', message }]);
  if (!isRecord(inputSchema) || inputSchema.type !== 'object') throw problem('must describe an object');
  const { length } = JSON.stringify(inputSchema);
  if (length > MAX_SCHEMA_CHARS) throw problem(`has ${length} characters; ${MAX_SCHEMA_CHARS} are allowed`);
  return inputSchema as JsonObject;
}

function descriptionOf({ name, title, description }: McpTool): string {
  if (typeof description === 'string' && description.trim() !== '') return description.trim();
  return typeof title === 'string' ? title : name;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
