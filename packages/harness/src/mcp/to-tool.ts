import {
  InvalidInputError,
  type JsonObject,
  type Tool,
  type ToolContext,
  type ToolOutputBlock,
} from '@x/core';
import { byteLength, digest, headOf, isObject, schemaFault } from '@x/core/internal';
import { digestOf } from '../loop/open-calls.js';
import type { McpResult, McpTool } from './mcp-client.js';

const MAX_DESCRIPTION_CHARS = 8_000;
const MAX_SCHEMA_CHARS = 50_000;
/**
 * Limits for the parts of one result and the characters of a resource name. A server could otherwise exceed any request
 * size.
 */
const MAX_PARTS = 1_000;
const MAX_NAME_CHARS = 1_000;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** Calls the tool on its server. */
type Call = (input: JsonObject, context: ToolContext) => ReturnType<Tool['run']>;

/**
 * Converts a server's tool to a tool of the agent. The server validates the input, which is sent as the model wrote it.
 *
 * @throws {InvalidInputError} for an invalid schema, because providers reject requests that contain one.
 */
export function toTool(name: string, tool: McpTool, trusted: boolean, call: Call): Tool {
  const description = headOf(descriptionOf(tool), MAX_DESCRIPTION_CHARS);
  const definition = { name, description, inputSchema: schemaOf(tool) };
  const hints = isObject(tool.annotations) ? tool.annotations : {};
  const readOnly = trusted && hints.readOnlyHint === true;
  const rights = {
    readOnly,
    origin: 'server' as const,
    ...(hints.destructiveHint === true && !readOnly ? { destructive: true } : {}),
    // The connection applies its own timeout to the call.
    timeoutMs: 0,
  };
  const input = { ...definition, ...rights, hints } as JsonObject;
  return {
    definition,
    ...rights,
    ...(trusted ? {} : { fingerprint: digestOf({ name, input }) }),
    run: (_, context) => call(context.call.input as JsonObject, context),
  };
}

function schemaOf({ name, inputSchema }: McpTool): JsonObject {
  const problem = (message: string) =>
    new InvalidInputError(`tool ${headOf(name, MAX_LENGTH)}`, [{ path: 'inputSchema', message }]);
  if (!isObject(inputSchema) || inputSchema.type !== 'object') throw problem('must describe an object');
  const { length } = JSON.stringify(inputSchema);
  if (length > MAX_SCHEMA_CHARS) throw problem(`has ${length} characters; ${MAX_SCHEMA_CHARS} are allowed`);
  const fault = schemaFault(inputSchema as JsonObject);
  if (fault !== undefined) throw problem(`is not a valid JSON Schema: ${fault}`);
  return inputSchema as JsonObject;
}

function descriptionOf({ name, title, description }: McpTool): string {
  if (typeof description === 'string' && description.trim() !== '') return description.trim();
  return typeof title === 'string' ? title : name;
}

interface OutputLimits {
  readonly maxResultChars: number;
  readonly maxFileBytes: number;
}

/**
 * Converts a server's result to tool output: text, and files for all other content. Replaces text beyond the limit and
 * oversized files with a note for the model.
 */
export function toOutput(result: McpResult, limits: OutputLimits): readonly ToolOutputBlock[] {
  const { structuredContent = result.toolResult } = result;
  const content = [result.content ?? []].flat();
  let left = limits.maxFileBytes;
  const more = content.length - MAX_PARTS;
  const note = more > 0 ? [{ type: 'text', text: `[${more} more parts were left out.]` }] : [];
  const blocks = [...content.slice(0, MAX_PARTS), ...note].flatMap((block) => {
    const converted = toBlocks(block, { ...limits, maxFileBytes: left });
    for (const each of converted) {
      if (each.type === 'file' && each.source.type === 'base64') left -= byteLength(each.source.data);
    }
    return converted;
  });
  if (structuredContent !== undefined) {
    const text = JSON.stringify(structuredContent);
    // Most servers repeat the structured content as text. Texts are not parsed, because they may hold any number of values.
    const isSaid = blocks.some((block) => block.type === 'text' && bare(block.text) === bare(text));
    if (!isSaid) blocks.push({ type: 'text', text });
  }
  if (blocks.length === 0) blocks.push({ type: 'text', text: 'The tool returned nothing.' });
  return cutTexts(blocks, limits.maxResultChars);
}

function bare(text: string): string {
  return text.replace(/\s+/g, '');
}

function toBlocks(block: unknown, limits: OutputLimits): readonly ToolOutputBlock[] {
  if (!isObject(block))
    return [{ type: 'text', text: typeof block === 'string' ? block : JSON.stringify(block) }];
  const { type, text, data, mimeType, resource } = block;
  if (type === 'text' && typeof text === 'string') return [{ type: 'text', text }];
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return [file(data, mimeType, limits)];
  if (type === 'resource' && isObject(resource)) {
    const name = headOf(String(resource.uri ?? 'resource'), MAX_NAME_CHARS);
    if (typeof resource.text === 'string') return [{ type: 'text', text: `[${name}]\n${resource.text}` }];
    if (typeof resource.blob === 'string') return [file(resource.blob, resource.mimeType, limits, name)];
  }
  // A link, or a content type that is not known here.
  return [{ type: 'text', text: JSON.stringify(block) }];
}

function file(
  written: string,
  mimeType: unknown,
  { maxFileBytes }: OutputLimits,
  filename?: string,
): ToolOutputBlock {
  const type =
    typeof mimeType === 'string' ? /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?=;|$)/.exec(mimeType)?.[0] : undefined;
  const mediaType = type ?? 'application/octet-stream';
  const bytes = byteLength(written);
  const data = bytes > maxFileBytes ? '' : bare(written);
  if (BASE64.test(data)) {
    const source = { type: 'base64', data } as const;
    return { type: 'file', mediaType, source, ...(filename === undefined ? {} : { filename }) };
  }
  const why =
    bytes > maxFileBytes ? `only ${maxFileBytes} more bytes are allowed` : 'they are not valid base64';
  const text = `[A file of type ${mediaType} with ${bytes} bytes was left out: ${why}.]`;
  return { type: 'text', text };
}

function cutTexts(blocks: readonly ToolOutputBlock[], maxChars: number): readonly ToolOutputBlock[] {
  let left = maxChars;
  let omitted = 0;
  const kept = blocks.flatMap((block): readonly ToolOutputBlock[] => {
    if (block.type !== 'text') return [block];
    const text = headOf(block.text, left);
    omitted += block.text.length - text.length;
    left -= text.length;
    return text === '' && block.text !== '' ? [] : [{ ...block, text }];
  });
  if (omitted === 0) return blocks;
  const note = `[${omitted} more characters were left out: a result may have at most ${maxChars}. Ask for less at a time.]`;
  return [...kept, { type: 'text', text: note }];
}

/** Maximum length of a tool name that every provider accepts. */
const MAX_LENGTH = 64;
const NOT_ALLOWED = /[^a-zA-Z0-9_-]/g;
const HASH_LENGTH = 8;

/**
 * Returns a unique name for each tool of a server: `mcp__server__tool`, with a hash if the name is too long or already
 * taken.
 */
export function toolNames(server: string, tools: readonly string[]): ReadonlyMap<string, string> {
  const plain = (tool: string) => `mcp__${server}__${tool.replace(NOT_ALLOWED, '_')}`;
  const uses = new Map<string, number>();
  for (const tool of tools) uses.set(plain(tool), (uses.get(plain(tool)) ?? 0) + 1);
  const fits = (tool: string) => plain(tool).length <= MAX_LENGTH && uses.get(plain(tool)) === 1;
  const names = new Map<string, string>();
  const taken = new Set<string>();
  // Assign hashed names first. They keep their form even if the server has a tool with the same name.
  for (const tool of [...tools].sort((left, right) => Number(fits(left)) - Number(fits(right)))) {
    let name = fits(tool) ? plain(tool) : hashed(plain(tool), tool);
    while (taken.has(name)) name = hashed(name, `${name} ${tool}`);
    taken.add(name);
    names.set(tool, name);
  }
  return names;
}

function hashed(name: string, identity: string): string {
  const hash = digest(identity).slice(0, HASH_LENGTH);
  return `${headOf(name, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}
