import { computed } from '@preact/signals';
import type { Message } from '@x/core';
import { entries } from './session.js';

/** The messages of the log by id. */
export const messagesById = computed(() => {
  const messages = new Map<string, Message>();
  for (const entry of entries.value) if (entry.type === 'message') messages.set(entry.id, entry.message);
  return messages;
});
