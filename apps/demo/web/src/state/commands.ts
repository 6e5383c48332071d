import { compact, lastApplied, phase, problem, send, undo } from './session.js';
import { goToNew } from './view.js';

/** Commands by name, called with the text after the name. Resolve to whether the command was accepted. */
const commands: Readonly<Record<string, (text: string) => boolean | Promise<boolean>>> = {
  compact: (instructions) =>
    phase.value === 'new'
      ? refuse('There is nothing to compact yet. Say something first.')
      : compact(instructions ? { instructions } : {}),
  undo: () => (lastApplied.value ? undo() : refuse('There is no compaction to undo.')),
  new() {
    goToNew();
    return true;
  },
};

const names = Object.keys(commands).map((name) => `/${name}`);
/** The list of commands, for display. */
export const usage: string = names.join(', ');

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
  return command ? command(rest.trim()) : refuse(`There is no command /${name}. There are ${usage}.`);
}
