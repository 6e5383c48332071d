import { isObject } from '../../lib/json.js';
import { type Part, plainJson, readOutput, readPart } from '../parts.js';
import { type Dialect, type ProviderMessage, partsOf } from './dialect.js';

/** The contents of Google's Gemini API, where the assistant's role is `model`. A call without an id is identified by its name. */
export const geminiDialect: Dialect = {
  key: 'google',
  parts: (source) => {
    const { parts } = source as ProviderMessage;
    return (Array.isArray(parts) ? parts : [parts]).flatMap((part) =>
      isObject(part) ? ({ type: kindOf(part), ...part } as Part) : partsOf(part),
    );
  },
  read(part) {
    if (part.type === 'text' && part.thought === true)
      return { type: 'thinking', thinking: String(part.text) };
    const held = part[part.type];
    if (!isObject(held)) return readPart(part);
    const { name, id = name } = held;
    if (part.type === 'functionCall')
      return { type: 'tool_use', id: String(id), name: String(name), input: plainJson(held.args ?? {}) };
    if (part.type === 'functionResponse') {
      const { output, error } = isObject(held.response) ? held.response : {};
      const answer = partsOf(error ?? output ?? held.response).map(readOutput);
      const base = { type: 'tool_result', toolUseId: String(id), toolName: String(name) } as const;
      return { ...base, output: answer, isError: error !== undefined };
    }
    const { mimeType, data, fileUri: url } = held;
    return part.type === 'inlineData' || part.type === 'fileData'
      ? readPart({ type: 'file', mimeType, data, url })
      : undefined;
  },
};

const KINDS = ['functionCall', 'functionResponse', 'inlineData', 'fileData', 'text'] as const;

function kindOf(part: Readonly<Record<string, unknown>>): string {
  return KINDS.find((kind) => part[kind] !== undefined) ?? Object.keys(part)[0] ?? 'text';
}
