import { isObject, type JsonObject } from '../lib/json.js';
import { wellFormed } from '../lib/well-formed.js';
import type { ToolDefinition } from '../model/model.js';

/**
 * The definition of a tool as every provider accepts it: well-formed texts, and a schema of an object without alternatives at its top. The
 * properties of all alternatives become properties of the object. The tool still checks its input by the whole schema.
 */
export function sendableTool(tool: ToolDefinition): ToolDefinition {
  const whole = wellFormed(tool);
  const { anyOf, oneOf, allOf, not, enum: values, ...rest } = whole.inputSchema;
  const special = [anyOf, oneOf, allOf, not, values];
  if (rest.type === 'object' && special.every((keyword) => keyword === undefined)) return whole;
  const parts = [...special.slice(0, 3).flat(), rest];
  const properties = parts.map((part) =>
    isObject(part) && isObject(part.properties) ? part.properties : {},
  );
  const inputSchema = { ...rest, type: 'object', properties: Object.assign({}, ...properties) } as JsonObject;
  return { ...whole, inputSchema };
}
