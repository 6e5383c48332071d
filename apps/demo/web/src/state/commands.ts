import { plural } from '../lib/format.js';
import { announcement } from './announcer.js';
import { compact, lastApplied, phase, problem, send, undo } from './session.js';
import { showCompaction } from './show-message.js';
import { goToNew } from './view.js';

/** Commands by name, called with the text after the name. Resolve to whether the command was accepted. */
const commands: Readonly<Record<string, (text: string) => boolean | Promise<boolean>>> = {
  compact: (instructions) =>
    phase.value === 'new'
      ? refuse('There is nothing to compact yet. Send a message first.')
      : compact(instructions ? { instructions } : {}),
  undo: undoLast,
  new() {
    goToNew();
    return true;
  },
};

const names = Object.keys(commands).map((name) => `/${name}`);
/** The list of commands, for display. */
export const usage: string = names.join(', ');

/** Undoes the last compaction in effect, shows it, and says so. */
export async function undoLast(): Promise<boolean> {
  const last = lastApplied.peek();
  if (!last) return refuse('There is no compaction to undo.');
  if (!(await undo())) return false;
  showCompaction(last.id);
  announcement.value = `Compaction undone: ${plural(last.manifest.length, 'message')} restored.`;
  return true;
}

function refuse(message: string): false {
  problem.value = { code: 'empty', message };
  return false;
}

/** Runs a command, or sends the text to the agent. Resolves to whether it was accepted. */
export async function say(text: string): Promise<boolean> {
  const said = text.trim();
  const [, name, rest = ''] = said.match(/^\/(\w+)(?:\s([\s\S]*))?$/) ?? [];
  if (name === undefined) return send(said);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  return command ? command(rest.trim()) : refuse(`There is no command /${name}. Available: ${usage}.`);
}
