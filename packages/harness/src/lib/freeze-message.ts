import type { JsonValue, Message } from '@x/core';

/**
 * Freezes a message, its blocks and the inputs of tool calls, so that no adapter or listener can change them. Provider
 * data in a message (`data`, `providerMetadata`) stays mutable.
 */
export function freezeMessage(message: Message): void {
  if (Object.isFrozen(message)) return;
  for (const block of Object.freeze(message).content) {
    if (block.type === 'tool_use') freezeJson(block.input);
    if (block.type === 'tool_result') for (const part of Object.freeze(block.output)) Object.freeze(part);
    Object.freeze(block);
  }
  Object.freeze(message.content);
}

function freezeJson(value: JsonValue): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const each of Object.values(value)) freezeJson(each as JsonValue);
}
