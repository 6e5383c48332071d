import { type ToolResultBlock, textOf } from '@x/core';
import { effectOf } from './ledger/tool-effect.js';

/** How a tool call ended. */
export interface CommandOutcome {
  readonly failed: boolean;
  readonly exitCode?: number | undefined;
}

/** Tools say how a command ended in front of what it printed or behind it: so many UTF-16 units are looked at. */
const HEAD = 200;
const TAIL = 400;

/** A line that says nothing else: `exit 1`, `Exit code: 1`, `[Command finished with exit code 1]`. */
const STATUS =
  /^[^\w\n]*(?:(?:the )?(?:process|command)\b[\w ]* )?exit(?:ed)?(?: with)?(?: code| status)?[ :=]+(-?\d+)\W*$/im;
/** The same in the middle of a line, in words that no script has. */
const MENTION = /\b(?:exited(?: with)?(?: code| status)?|exit (?:code|status))[ :=]+(-?\d+)/i;
const KILLED = /^(?:killed by \w+|timed out after \d+ ms and was killed|was interrupted and killed)(?:\n|$)/;

/**
 * Whether a call failed: by the tool's own word or, of a command, by its exit code as it stands in the output. Most
 * shells answer a command that failed with an ordinary result.
 */
export function outcomeOf(result: ToolResultBlock): CommandOutcome {
  // What a file or a page says of exits is about others.
  if (effectOf(result.toolName, false) === 'read') return { failed: result.isError };
  const text = textOf([result]);
  const head = text.slice(0, HEAD);
  const code = codeIn(head, STATUS) ?? codeIn(text.slice(-TAIL), STATUS, MENTION);
  if (code !== undefined) return { failed: result.isError || code !== 0, exitCode: code };
  return { failed: result.isError || KILLED.test(head) };
}

/** Whether a line tells an exit code and nothing else. */
export function isStatusLine(line: string): boolean {
  return STATUS.test(line);
}

function codeIn(text: string, ...patterns: readonly RegExp[]): number | undefined {
  // Most results hold no such word, and to find that out is cheap.
  if (!/exit/i.test(text)) return undefined;
  for (const pattern of patterns) {
    const code = pattern.exec(text)?.[1];
    if (code !== undefined) return Number(code);
  }
  return undefined;
}
