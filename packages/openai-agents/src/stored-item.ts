import type { AgentInputItem } from '@openai/agents';
import type { ItemLog, JsonValue, Message } from '@x/core';
import { itemFrom, itemJson } from '@x/core/internal';

/** Marks the items of a log, and the blocks that contain them. */
export const FRAMEWORK = 'openai-agents';

/** Writes an item as JSON. */
export const toJson = (item: unknown, path?: string): JsonValue => itemJson(item, `$${FRAMEWORK}`, path);

/** Restores the item that {@link toJson} wrote. */
export const fromJson = (json: JsonValue): unknown => itemFrom(json, `$${FRAMEWORK}`);

/** Converts an item to a stored message. Its only block contains the complete item. */
export function toStored(log: ItemLog, item: AgentInputItem): Message {
  // Only listings and inspectors read the role. The item itself determines its meaning.
  const role = 'role' in item && (item.role === 'user' || item.role === 'system') ? item.role : 'assistant';
  return log.message(toJson(item), role);
}

/**
 * Restores the item of a stored message.
 *
 * @throws {SessionStoreError} if another program wrote the message.
 */
export function fromStored(log: ItemLog, message: Message): AgentInputItem {
  return fromJson(log.item(message)) as AgentInputItem;
}
