import type { AgentState, Message } from '@x/core';

/**
 * Puts `after` in the place of `before`; messages that arrived behind it meanwhile stay behind it.
 *
 * @returns A function that undoes it, or `undefined` when the conversation no longer begins with `before`: nothing was
 * changed then.
 */
export function swapContext(
  state: AgentState,
  before: readonly Message[],
  after: readonly Message[],
): (() => void) | undefined {
  const context = state.contextMutable();
  if (!before.every((message, index) => context[index] === message)) return undefined;
  replaceHead(context, before.length, after);
  return () => replaceHead(context, after.length, before);
}

function replaceHead(context: Message[], length: number, head: readonly Message[]): void {
  const tail = context.slice(length);
  context.length = 0;
  // Not `push(...head)`: a call takes only so many arguments.
  for (const message of head) context.push(message);
  for (const message of tail) context.push(message);
}
