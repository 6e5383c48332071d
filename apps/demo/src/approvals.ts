import type { Capability } from '@x/core';
import { permissions } from '@x/harness';

/** Files that the agent may write without asking: its report and its notes. */
const OWN_FILES = ['REPORT.md', 'notes/**'];

/**
 * Commands that read the repository and nothing else: the file tools read files. A command that takes any path would read the
 * server's secrets, `/proc/$PPID/environ` for one. What writes or runs another is in `ASK`, or left out.
 */
const READING_COMMANDS = [
  'ls',
  'pwd',
  'git status',
  'git log *',
  'git show *',
  'git diff',
  'git diff --stat',
];
const ASK = ['execute(git *--output*)', 'execute(git *--ext-diff*)', 'execute(git *--textconv*)'];

interface ApprovalOptions {
  /** True when the embedded guide answers. Its commands are part of this program: no input of a user becomes one. */
  readonly embedded: boolean;
  /** True when no human is there: calls that would be asked are denied, and the model reads so. */
  readonly unattended: boolean;
}

/** Makes the permissions: reading and writing its own notes are free, the agent asks for the rest. */
export function approvals({ embedded, unattended }: ApprovalOptions): Capability {
  const commands = embedded ? ['execute'] : READING_COMMANDS.map((command) => `execute(${command})`);
  const writing = OWN_FILES.flatMap((path) => [`write_file(${path})`, `edit_file(${path})`]);
  return permissions({
    mode: unattended ? 'dont_ask' : 'default',
    allow: [...commands, ...writing, 'memory_save'],
    ask: embedded ? [] : ASK,
  });
}
