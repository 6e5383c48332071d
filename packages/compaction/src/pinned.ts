import type { Message } from '@x/core';

/** Whether a user said it: not a summary, not an injected message, not only tool results. */
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
