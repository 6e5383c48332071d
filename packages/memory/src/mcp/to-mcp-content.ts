import type { ContentBlock as McpContent } from '@modelcontextprotocol/sdk/types.js';
import type { FileBlock, ToolOutputBlock, Workspace } from '@x/core';

/** A block of a tool's output as MCP has it. Images are embedded, other files too; what lies elsewhere is linked. */
export async function toMcpContent(block: ToolOutputBlock, workspace: Workspace): Promise<McpContent> {
  if (block.type === 'text') return { type: 'text', text: block.text };
  const { mediaType, source } = block;
  switch (source.type) {
    case 'base64':
      return embedded(block, source.data);
    case 'workspace':
      return embedded(block, Buffer.from(await workspace.read(source.path)).toString('base64'));
    case 'url':
      return { type: 'resource_link', uri: source.url, name: nameOf(block), mimeType: mediaType };
    case 'provider':
      return { type: 'text', text: `[file ${nameOf(block)}, kept by ${source.provider} as ${source.id}]` };
  }
}

function embedded(block: FileBlock, data: string): McpContent {
  const mimeType = block.mediaType;
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType };
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType };
  const uri = `file:///${encodeURIComponent(nameOf(block))}`;
  return { type: 'resource', resource: { uri, blob: data, mimeType } };
}

function nameOf({ filename, mediaType }: FileBlock): string {
  return filename ?? mediaType;
}
