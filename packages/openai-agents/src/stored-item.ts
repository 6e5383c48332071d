import type { AgentInputItem } from '@openai/agents';
import {
  assistantMessage,
  isObject,
  type JsonObject,
  type Message,
  type OpaqueBlock,
  type Role,
  SessionStoreError,
  systemMessage,
  userMessage,
} from '@x/core';
import { fromJson, toJson } from './item-json.js';

/** The provider of the blocks that hold an item. */
const PROVIDER = 'openai-agents';

/** An item as a store keeps it: one message, the item itself in its one block, whole. */
export function toStored(item: AgentInputItem): Message {
  const content: readonly OpaqueBlock[] = [{ type: 'opaque', provider: PROVIDER, data: toJson(item) }];
  switch (roleOf(item)) {
    case 'user':
      return userMessage(content);
    case 'system':
      return systemMessage(content);
    default:
      return assistantMessage(content);
  }
}

/**
 * The item that a message holds, as it was given.
 *
 * @throws {SessionStoreError} when the message was written by something else.
 */
export function fromStored(message: Message, sessionKey: string): AgentInputItem {
  return fromJson(dataOf(message, sessionKey)) as AgentInputItem;
}

/** The item as JSON, for comparisons and without rebuilding what JSON cannot hold. */
export function dataOf(message: Message, sessionKey: string): JsonObject {
  const [block, ...others] = message.content;
  if (
    block?.type === 'opaque' &&
    block.provider === PROVIDER &&
    others.length === 0 &&
    isObject(block.data)
  ) {
    return block.data;
  }
  throw new SessionStoreError(
    'session_corrupt',
    `Session ${sessionKey} holds message ${message.id}, which no AgentsSession wrote: another agent uses this key. ` +
      'Nothing was changed; give the OpenAI agent a key of its own.',
    { sessionKey },
  );
}

// Nobody but listings and inspectors reads it: an item is told by itself.
function roleOf(item: AgentInputItem): Role {
  return 'role' in item && (item.role === 'user' || item.role === 'system') ? item.role : 'assistant';
}
