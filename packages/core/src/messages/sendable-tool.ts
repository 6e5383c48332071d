import { isObject, type JsonObject, type JsonValue } from '../lib/json.js';
import { memoize } from '../lib/memoize.js';
import { wellFormed } from '../lib/well-formed.js';
import type { ToolDefinition } from '../model/model.js';

/** Keywords whose value contains schemas by name, a list of schemas, or one schema. */
const NAMED = /^(?:properties|patternProperties|\$defs|definitions|dependentSchemas)$/;
const LISTED = /^(?:anyOf|oneOf|allOf)$/;
const SINGLE = /^(?:items|additionalProperties|not|if|then|else|contains)$/;
/** A name of an input that every provider accepts. */
const NAME = /^[\w.-]{1,64}$/;

/**
 * Converts a tool's definition so that every provider accepts it: well-formed texts, and an object schema without alternatives at its top.
 * The properties of all alternatives become properties of the object. Tuples become lists. Inputs whose names providers reject are listed
 * in the description instead. The tool still validates its input with the full schema.
 */
export function sendableTool({ inputSchema: given, ...tool }: ToolDefinition): ToolDefinition {
  const input = sendableInput(given);
  const { description, ...rest } = wellFormed(tool);
  return { ...rest, description: description + input.more, inputSchema: input.schema };
}

const sendableInput = memoize((given: JsonObject) => {
  const { anyOf, oneOf, allOf, not, enum: values, $schema, ...rest } = wellFormed(given);
  const own = soundSchema(rest);
  const parts = [anyOf, oneOf, allOf].flat().map((part = {}) => soundPart(part));
  const properties: JsonObject = Object.assign({}, ...[...parts, own].map((part) => part.properties));
  const schema: JsonObject = { ...own, type: 'object', properties };
  const odd = Object.entries(properties).filter(([name]) => !NAME.test(name));
  if (odd.length === 0) return { schema, more: '' };
  const told = JSON.stringify({ properties: Object.fromEntries(odd), required: own.required });
  const sound = Object.entries(properties).filter(([name]) => NAME.test(name));
  const { additionalProperties, ...open } = schema;
  return {
    schema: soundSchema({ ...open, properties: Object.fromEntries(sound) }),
    more: `\nIt also accepts these inputs, with exactly these names: ${told}`,
  };
});

/** Removes parts of a valid JSON Schema that some provider rejects. */
function soundSchema(schema: JsonObject): JsonObject {
  const { items, prefixItems, additionalItems, required, ...rest } = schema;
  const parts = Object.entries(rest).map(([key, value]): [string, JsonValue] => {
    if (LISTED.test(key) && Array.isArray(value)) return [key, value.map(soundPart)];
    if (SINGLE.test(key) && isObject(value)) return [key, soundSchema(value)];
    if (!NAMED.test(key) || !isObject(value)) return [key, value];
    return [key, Object.fromEntries(Object.entries(value).map(([name, part]) => [name, soundPart(part)]))];
  });
  const sound: JsonObject = Object.fromEntries(parts);
  const tuple = prefixItems ?? items;
  const list =
    Array.isArray(tuple) && tuple.length > 0 ? { anyOf: tuple.map(soundPart) } : soundPart(items ?? true);
  const needed = [required ?? []]
    .flat()
    .filter((name) => Object.hasOwn(Object(sound.properties), String(name)));
  return {
    ...sound,
    ...([schema.type].flat().includes('array') || tuple !== undefined ? { items: list } : {}),
    ...(needed.length > 0 ? { required: [...new Set(needed)] } : {}),
  };
}

/** A boolean is a valid schema. */
function soundPart(part: JsonValue): JsonObject {
  if (isObject(part)) return soundSchema(part);
  return part === false ? { not: {} } : {};
}
