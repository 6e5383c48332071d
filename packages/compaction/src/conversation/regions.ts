import { type Message, toolResultsOf } from '@x/core';
import type { Meter } from '../meter.js';

/** The end of a conversation to leave alone: so many tokens when not 0, else so many messages. */
export interface KeepWindow {
  readonly keepMessages: number;
  readonly keepTokens: number;
}

/** Index of the oldest message inside the window. */
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
 * Index of the model's last message. From there on everything is live: calls may still be waiting to be run, and no
 * model has seen the results yet.
 */
export function startOfLive(messages: readonly Message[]): number {
  const index = messages.findLastIndex((message) => message.role === 'assistant');
  return index === -1 ? messages.length : index;
}

/** Finds the model's last message where results stand behind it that no model call has contained; the end where none do. */
export function startOfUnseen(messages: readonly Message[]): number {
  const index = startOfLive(messages);
  const waits = messages.slice(index).some((message) => toolResultsOf(message).length > 0);
  return waits ? index : messages.length;
}

/** Tests if a user said it: no summary, no injected message, not only tool results. */
export function isUserRequest(message: Message): boolean {
  return (
    message.role === 'user' &&
    message.kind === undefined &&
    message.content.some((block) => block.type !== 'tool_result')
  );
}

/** Index of the first user request, or -1. */
export function firstUserRequest(messages: readonly Message[]): number {
  return messages.findIndex(isUserRequest);
}

/** Index of the latest user request, or -1. */
export function latestUserRequest(messages: readonly Message[]): number {
  return messages.findLastIndex(isUserRequest);
}
