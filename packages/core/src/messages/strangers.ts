import type { ToolResultBlock } from './content-block.js';
import type { Message } from './message.js';

/**
 * Names the tools whose results brought the text of strangers into this turn: all since the last words of the user that were not
 * written by the agent itself. A summary may hold any text, and counts as one.
 */
export function strangersIn(
  context: readonly Message[],
  isForeign = ({ origin }: ToolResultBlock) => origin !== 'agent',
): readonly string[] {
  const names = new Set<string>();
  for (const { role, kind, content } of context.toReversed()) {
    if (kind === 'summary') return [...names.add('summary')];
    if (role === 'user' && kind === undefined) break;
    for (const block of content)
      if (block.type === 'tool_result' && isForeign(block)) names.add(block.toolName);
  }
  return [...names];
}
