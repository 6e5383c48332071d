import { type ContentBlock, isObject, type JsonObject, type JsonValue, type ToolOutputBlock } from '@x/core';

/** Who says an item: results of tools stand by themselves, everything else that a model does is its turn. */
export type ItemRole = 'user' | 'system' | 'assistant' | 'tool';

/** Whose item it is. */
export function itemRole(item: JsonObject): ItemRole {
  if (isResult(item)) return 'tool';
  return item.role === 'user' || item.role === 'system' ? item.role : 'assistant';
}

/** A call that waits for its result, of a function, a shell, a computer or a patch. */
function isCall({ type, callId }: JsonObject): boolean {
  return typeof callId === 'string' && typeof type === 'string' && type.endsWith('_call');
}

function isResult({ type, callId }: JsonObject): boolean {
  return typeof callId === 'string' && typeof type === 'string' && /_(?:result|output)$/.test(type);
}

/** An item as blocks, so that it can be counted and reduced. What is only the provider's business stays opaque. */
export function itemBlocks(item: JsonObject): readonly ContentBlock[] {
  const { callId, name, type, content, role } = item;
  if (isCall(item)) {
    const input = type === 'function_call' ? parsed(item.arguments) : item;
    return [{ type: 'tool_use', id: String(callId), name: String(name ?? type), input }];
  }
  if (isResult(item)) {
    const output = outputBlocks(item.output ?? null);
    return [
      {
        type: 'tool_result',
        toolUseId: String(callId),
        toolName: String(name ?? type),
        output,
        isError: false,
      },
    ];
  }
  if (role !== undefined && typeof content === 'string') return [{ type: 'text', text: content }];
  if (role !== undefined && Array.isArray(content)) return (content as readonly JsonValue[]).map(partBlock);
  return [{ type: 'opaque', provider: 'openai-agents', data: item }];
}

function parsed(text: JsonValue | undefined): JsonValue {
  try {
    return JSON.parse(String(text)) as JsonValue;
  } catch {
    return String(text);
  }
}

function outputBlocks(output: JsonValue): readonly ToolOutputBlock[] {
  if (typeof output === 'string') return [{ type: 'text', text: output }];
  const parts: readonly JsonValue[] = Array.isArray(output) ? output : [output];
  return parts.map((part): ToolOutputBlock => {
    const block = partBlock(part);
    return block.type === 'text' || block.type === 'file'
      ? block
      : { type: 'text', text: JSON.stringify(part) };
  });
}

/** A part of a message or of a result. */
function partBlock(part: JsonValue): ContentBlock {
  if (isObject(part)) {
    const { text, image, file } = part;
    if (typeof text === 'string') return { type: 'text', text };
    const url = image ?? file;
    if (typeof url === 'string') {
      const mediaType = image === undefined ? 'application/octet-stream' : 'image/*';
      return { type: 'file', mediaType, source: { type: 'url', url } };
    }
  }
  return { type: 'opaque', provider: 'openai-agents', data: part };
}
