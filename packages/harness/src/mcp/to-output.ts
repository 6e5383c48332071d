import { headOf, type ToolOutputBlock } from '@x/core';
import type { McpResult } from './mcp-client.js';

export interface OutputLimits {
  readonly maxResultChars: number;
  readonly maxFileBytes: number;
}

/**
 * What a server answered, as output of a tool: text, and files for all that is none. Text beyond the limit is left out,
 * and so is a file that is too large; either way the model is told.
 */
export function toOutput(result: McpResult, limits: OutputLimits): readonly ToolOutputBlock[] {
  const content = Array.isArray(result.content) ? result.content : [];
  const blocks = content.flatMap((block) => toBlocks(block, limits));
  if (blocks.length > 0) return withinLimit(blocks, limits.maxResultChars);
  const structuredContent = result.structuredContent ?? result.toolResult;
  const text =
    structuredContent === undefined ? 'The tool returned nothing.' : JSON.stringify(structuredContent);
  return withinLimit([{ type: 'text', text }], limits.maxResultChars);
}

function toBlocks(block: unknown, limits: OutputLimits): readonly ToolOutputBlock[] {
  if (!isRecord(block)) return [];
  const { type, text, data, mimeType, resource } = block;
  if (type === 'text' && typeof text === 'string') return [{ type: 'text', text }];
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return [file(data, mimeType, limits)];
  if (type === 'resource' && isRecord(resource)) {
    const name = String(resource.uri ?? 'resource');
    if (typeof resource.text === 'string') return [{ type: 'text', text: `[${name}]\n${resource.text}` }];
    if (typeof resource.blob === 'string') return [file(resource.blob, resource.mimeType, limits, name)];
  }
  // A link, or something that the protocol did not have when this was written.
  return [{ type: 'text', text: JSON.stringify(block) }];
}

function file(
  data: string,
  mimeType: unknown,
  { maxFileBytes }: OutputLimits,
  filename?: string,
): ToolOutputBlock {
  const mediaType = typeof mimeType === 'string' ? mimeType : 'application/octet-stream';
  const bytes = Math.floor((data.length * 3) / 4);
  if (bytes > maxFileBytes) {
    return {
      type: 'text',
      text: `[A file of type ${mediaType} with ${bytes} bytes was left out: ${maxFileBytes} are allowed.]`,
    };
  }
  return {
    type: 'file',
    mediaType,
    source: { type: 'base64', data },
    ...(filename === undefined ? {} : { filename }),
  };
}

function withinLimit(blocks: readonly ToolOutputBlock[], maxChars: number): readonly ToolOutputBlock[] {
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
  const note = `[${omitted} characters more were left out: a result may have ${maxChars}. Ask for less at a time.]`;
  return [...kept, { type: 'text', text: note }];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
