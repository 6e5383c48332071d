import type { ToolResultBlock } from './content-block.js';
import type { Message } from './message.js';

/**
 * Names the tools whose results brought the text of strangers into this turn: all since the last words of the user that were not
 * written by the agent itself. A summary may hold any text and counts as one, and so do words in the user's place that the user did not
 * write, such as a subagent's task.
 */
export function strangersIn(
  context: readonly Message[],
  isForeign = ({ origin }: ToolResultBlock) => origin !== 'agent',
): readonly string[] {
  const names = new Set<string>();
  for (const { role, kind, content } of context.toReversed()) {
    if (kind === 'summary') return [...names.add('summary')];
    if (role === 'user' && kind === undefined) {
      if (content.some(({ origin }) => origin !== undefined)) names.add('task');
      break;
    }
    for (const block of content)
      if (block.type === 'tool_result' && isForeign(block)) names.add(block.toolName);
  }
  return [...names];
}
