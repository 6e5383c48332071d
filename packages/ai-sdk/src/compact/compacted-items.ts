import type { JsonObject, JsonValue, OpaqueBlock } from '@x/core';

const TYPE = 'compacted';

/** The items with which OpenAI replaced a conversation, as one block: kept and sent back byte for byte. */
export function compactedBlock(provider: string, items: readonly JsonValue[]): OpaqueBlock {
  return { type: 'opaque', provider, data: { type: TYPE, items } };
}

/** The items in a block that {@link compactedBlock} made. */
export function compactedItems({ data }: OpaqueBlock): readonly JsonValue[] | undefined {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return undefined;
  const { type, items } = data as JsonObject;
  return type === TYPE && Array.isArray(items) ? items : undefined;
}
