import { isObject, type JsonValue } from '../../lib/json.js';
import type { Role } from '../message.js';
import { type Part, parseInput, plainJson, readOutput, readPart } from '../parts.js';
import { type Dialect, partsOf } from './dialect.js';

const RESULT = /_(?:result|output)$/;

/**
 * The items of OpenAI's Responses API and of the OpenAI Agents SDK, which writes `callId` for `call_id`. An item is a message, a thought, a
 * call or a result.
 */
export const openaiItems: Dialect = {
  key: 'openai',
  parts(source) {
    const item = source as Part;
    return item.role === undefined ? [item] : partsOf(item.content);
  },
  read(item) {
    const { type, name, call_id, callId = call_id } = item;
    if (type === 'reasoning') {
      const texts = [item.content, item.summary].flatMap(partsOf);
      return { type: 'thinking', thinking: texts.map(({ text }) => text).join('\n') };
    }
    if (typeof callId !== 'string') return readPart(item);
    const toolName = String(name ?? type.split('_call', 1)[0]);
    if (type.endsWith('_call')) return { type: 'tool_use', id: callId, name: toolName, input: inputOf(item) };
    if (!RESULT.test(type)) return undefined;
    const { output } = item;
    const wrapped = isObject(output) && !('type' in output) ? output : { content: output };
    return {
      type: 'tool_result',
      toolUseId: callId,
      toolName,
      output: partsOf(wrapped.content).map(readOutput),
      isError: wrapped.success === false,
    };
  },
};

function inputOf(item: Part): JsonValue {
  if ('arguments' in item) return parseInput(item.arguments);
  if ('input' in item) return { input: plainJson(item.input) };
  return plainJson(item.action ?? item);
}

/** Returns the role of an item: `tool` for the result of a call, `assistant` for everything else that a model produces. */
export function itemRole({ role, type, call_id, callId = call_id }: Readonly<Record<string, unknown>>): Role {
  if (typeof role === 'string') return role === 'user' || role === 'assistant' ? role : 'system';
  return typeof callId === 'string' && RESULT.test(String(type)) ? 'tool' : 'assistant';
}
