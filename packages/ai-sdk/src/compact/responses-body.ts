import type { JsonObject, JsonValue } from '@x/core';

/** What the endpoint for compactions takes of a request to the model. */
const COMPACT_FIELDS = [
  'model',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'service_tier',
] as const;

/** The body of a request for a compaction, made from that of a request to the model. */
export function compactBody(body: JsonObject, instructions: string | undefined): JsonObject {
  const fields = COMPACT_FIELDS.flatMap((field): [string, JsonValue][] =>
    body[field] === undefined ? [] : [[field, body[field]]],
  );
  return {
    ...Object.fromEntries(fields),
    input: body.input ?? [],
    ...(instructions === undefined ? {} : { instructions }),
  };
}

/** The body with each text that begins with `marker` replaced by the items that it holds. */
export function withItems(body: JsonObject, marker: string): JsonObject {
  const { input } = body;
  return Array.isArray(input) ? { ...body, input: input.flatMap((item) => expanded(item, marker)) } : body;
}

/** A user's message falls into the parts before, between and after the marked texts. */
function expanded(item: JsonValue, marker: string): readonly JsonValue[] {
  const content = isObject(item) ? item.content : undefined;
  if (!isObject(item) || !Array.isArray(content)) return [item];
  const items: JsonValue[] = [];
  let rest: JsonValue[] = [];
  const close = () => {
    if (rest.length > 0) items.push({ ...item, content: rest });
    rest = [];
  };
  for (const part of content as readonly JsonValue[]) {
    const text = isObject(part) ? part.text : undefined;
    if (typeof text === 'string' && text.startsWith(marker)) {
      close();
      items.push(...(JSON.parse(text.slice(marker.length)) as readonly JsonValue[]));
    } else rest.push(part);
  }
  close();
  return items;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
