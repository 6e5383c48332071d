import type { Capability } from '@x/core';
import { permissions } from '@x/harness';

/** Where the agent may write without asking: its report and its notes. */
const OWN_FILES = ['REPORT.md', 'notes/**'];

/** Commands that only read. What has options that write or run something else is asked for by `ASK`, or left out. */
const READING_COMMANDS = [
  'ls *',
  'pwd',
  'cat *',
  'head *',
  'tail *',
  'wc *',
  'grep *',
  'git status *',
  'git log *',
  'git show *',
  'git diff *',
];
const ASK = ['execute(git *--output*)', 'execute(git *--ext-diff*)', 'execute(git *--textconv*)'];

interface ApprovalOptions {
  /** Whether the embedded guide answers. Its commands stand in this program: no input of a user becomes one. */
  readonly embedded: boolean;
  /** Whether nobody is there to ask: what would be asked is denied then, and the model reads so. */
  readonly unattended: boolean;
}

/** What the agent does by itself, and what it asks for: reading is free, and so are its own notes; the rest is asked for. */
export function approvals({ embedded, unattended }: ApprovalOptions): Capability {
  const commands = embedded ? ['execute'] : READING_COMMANDS.map((command) => `execute(${command})`);
  const writing = OWN_FILES.flatMap((path) => [`write_file(${path})`, `edit_file(${path})`]);
  return permissions({
    mode: unattended ? 'dont_ask' : 'default',
    // The guide has no tools of its memory.
    allow: [...commands, ...writing, ...(embedded ? [] : ['memory_save'])],
    ask: embedded ? [] : ASK,
  });
}
