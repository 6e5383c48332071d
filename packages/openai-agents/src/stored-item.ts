import type { AgentInputItem } from '@openai/agents';
import type { ItemLog, JsonValue, Message } from '@x/core';
import { itemFrom, itemJson } from '@x/core/internal';

/** Marks the items of a log, and the blocks that hold them. */
export const FRAMEWORK = 'openai-agents';

/** Writes an item as JSON. */
export const toJson = (item: unknown, path?: string): JsonValue => itemJson(item, `$${FRAMEWORK}`, path);

/** Makes the item again that {@link toJson} wrote. */
export const fromJson = (json: JsonValue): unknown => itemFrom(json, `$${FRAMEWORK}`);

/** Writes an item as a store keeps it: one message, the item itself in its one block, whole. */
export function toStored(log: ItemLog, item: AgentInputItem): Message {
  // Nobody but listings and inspectors reads the role: an item is told by itself.
  const role = 'role' in item && (item.role === 'user' || item.role === 'system') ? item.role : 'assistant';
  return log.message(toJson(item), role);
}

/**
 * Reads the item that a message holds, as it was given.
 *
 * @throws {SessionStoreError} when the message was written by something else.
 */
export function fromStored(log: ItemLog, message: Message): AgentInputItem {
  return fromJson(log.item(message)) as AgentInputItem;
}
