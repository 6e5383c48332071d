import {
  type ContentBlock,
  type JsonObject,
  type JsonValue,
  parseInput,
  readOutput,
  readPart,
} from '@x/core';
import { FRAMEWORK } from '../stored-item.js';

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
  const about = { id: String(callId), name: String(name ?? type) };
  if (isCall(item)) {
    const input = type === 'function_call' ? parseInput(item.arguments) : item;
    return [{ type: 'tool_use', ...about, input }];
  }
  if (isResult(item)) {
    const output = [item.output ?? null].flat().map(readOutput);
    return [{ type: 'tool_result', toolUseId: about.id, toolName: about.name, output, isError: false }];
  }
  if (role !== undefined && typeof content === 'string') return [{ type: 'text', text: content }];
  if (role !== undefined && Array.isArray(content))
    return content.map((part: JsonValue) => readPart(part) ?? opaque(part));
  return [opaque(item)];
}

function opaque(data: JsonValue): ContentBlock {
  return { type: 'opaque', provider: FRAMEWORK, data };
}
