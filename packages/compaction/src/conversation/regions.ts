import { type Message, toolResultsOf } from '@x/core';
import type { Meter } from '../meter.js';

/** The end of a conversation that is kept: `keepTokens` if not 0, else `keepMessages`. */
export interface KeepWindow {
  readonly keepMessages: number;
  readonly keepTokens: number;
}

/** Returns the index of the oldest message inside the window. */
export function startOfWindow(messages: readonly Message[], window: KeepWindow, meter: Meter): number {
  if (window.keepTokens === 0) return Math.max(0, messages.length - window.keepMessages);
  let tokens = 0;
  let index = messages.length;
  while (index > 0) {
    tokens += meter.message(messages[index - 1] as Message);
    if (tokens > window.keepTokens) break;
    index--;
  }
  return index;
}

/**
 * Returns the index of the model's last message. That message and all later ones are live: its calls may still be pending,
 * and no model has seen their results.
 */
export function startOfLive(messages: readonly Message[]): number {
  const index = messages.findLastIndex((message) => message.role === 'assistant');
  return index === -1 ? messages.length : index;
}

/** Returns the index of the model's last message if unseen results follow it, else the number of messages. */
export function startOfUnseen(messages: readonly Message[]): number {
  const index = startOfLive(messages);
  const waits = messages.slice(index).some((message) => toolResultsOf(message).length > 0);
  return waits ? index : messages.length;
}

/** Tests if a message is from a user: not a summary, not injected, and not only tool results. */
export function isUserRequest(message: Message): boolean {
  return (
    message.role === 'user' &&
    message.kind === undefined &&
    message.content.some((block) => block.type !== 'tool_result')
  );
}

/** Returns the index of the first user request, or -1. */
export function firstUserRequest(messages: readonly Message[]): number {
  return messages.findIndex(isUserRequest);
}

/** Returns the index of the latest user request, or -1. */
export function latestUserRequest(messages: readonly Message[]): number {
  return messages.findLastIndex(isUserRequest);
}
