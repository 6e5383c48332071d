import type { Capability } from '@x/core';
import { permissions } from '@x/harness';

/** Files that the agent may write without approval: its reports and its notes. */
const OWN_FILES = ['REPORT*.md', 'notes/**'];

/**
 * Commands that only read the repository. Files are read with the file tools: a command that takes any path could read the server's
 * secrets, such as `/proc/$PPID/environ`. Commands that write or run other commands are in `ASK`, or omitted.
 */
const READING_COMMANDS = ['ls', 'pwd', 'git status', 'git log *', 'git show *', 'git diff'];
const ASK = ['execute(git *--output*)', 'execute(git *--ext-diff*)', 'execute(git *--textconv*)'];

interface ApprovalOptions {
  /** Whether the embedded guide answers. Its commands are part of this program and never contain user input. */
  readonly embedded: boolean;
  /** Whether no human is present. Calls that need approval are then denied, and the model is informed. */
  readonly unattended: boolean;
}

/** Returns the permissions: the agent may read and write its own notes, and asks for anything else. */
export function approvals({ embedded, unattended }: ApprovalOptions): Capability {
  const commands = embedded ? ['execute'] : READING_COMMANDS.map((command) => `execute(${command})`);
  const writing = OWN_FILES.flatMap((path) => [`write_file(${path})`, `edit_file(${path})`]);
  return permissions({
    mode: unattended ? 'dont_ask' : 'default',
    allow: [...commands, ...writing, 'memory_save'],
    ask: embedded ? [] : ASK,
  });
}
