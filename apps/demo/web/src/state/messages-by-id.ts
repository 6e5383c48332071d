import { computed } from '@preact/signals';
import type { Message, ToolUseBlock } from '@x/core';
import { entries } from './session.js';

/** The messages of the log by id. */
export const messagesById = computed(() => {
  const messages = new Map<string, Message>();
  for (const entry of entries.value) if (entry.type === 'message') messages.set(entry.id, entry.message);
  return messages;
});

/** The tool calls of the log by id. */
export const toolCalls = computed(() => {
  const calls = new Map<string, ToolUseBlock>();
  for (const message of messagesById.value.values()) {
    for (const block of message.content) if (block.type === 'tool_use') calls.set(block.id, block);
  }
  return calls;
});
