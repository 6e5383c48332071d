import { randomUUID } from 'node:crypto';
import { assistantMessage, type Message, type ToolUseBlock, userMessage, type Workspace } from '@x/core';
import type { HarnessAgent } from '@x/harness';
import { oneLine } from '@x/harness/view';
import { completionsOf } from './slash-commands.js';

/** Returns the completions of the last word of a line, a command or a file after `@`, and that word. */
export async function complete(line: string, workspace: Workspace): Promise<[string[], string]> {
  const word = line.slice(line.lastIndexOf(' ') + 1);
  if (!word.startsWith('@')) return [completionsOf(line), line];
  const found: string[] = [];
  try {
    const folder = word.slice(1, word.lastIndexOf('/') + 1);
    for await (const { path, type } of workspace.list(folder || '.')) {
      const whole = `@${path}${type === 'file' ? ' ' : '/'}`;
      // A name with control characters would change the line, or the display of the terminal.
      if (whole.startsWith(word) && oneLine(whole) === whole) found.push(whole);
    }
  } catch {
    // A folder that cannot be listed has nothing to offer.
  }
  return [found, word];
}

/**
 * Returns a text as a message, after the commands that the user ran before, and with calls that read the files that the text mentions. The
 * agent's permissions apply to these calls. Prints a note for each mention that is not a file.
 */
export async function withMentions(
  text: string,
  ran: readonly Message[],
  agent: HarnessAgent,
  note: (text: string) => void,
): Promise<readonly Message[]> {
  const reads: ToolUseBlock[] = [];
  const canRead = agent.capabilities.includes('workspace_tools');
  for (const [, path = ''] of canRead ? text.matchAll(/(?<!\S)@(\S*[^\s.,;:!?)])/g) : []) {
    const entry = await agent.workspace.stat(path).catch(() => undefined);
    if (entry?.type !== 'file')
      note(`${path}: ${entry ? 'not a file' : 'file not found'}. Only your text is sent.`);
    else reads.push({ type: 'tool_use', id: randomUUID(), name: 'read_file', input: { path } });
  }
  return [userMessage(text), ...ran, ...(reads.length > 0 ? [assistantMessage(reads)] : [])];
}
