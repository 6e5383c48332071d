import { compact, lastApplied, problem, send, undo } from './session.js';
import { goToNew } from './view.js';

export interface Command {
  readonly name: string;
  readonly description: string;
  /** What may follow it, if anything. */
  readonly takesText?: string;
  /** Resolves to whether it was accepted. */
  run(text: string): boolean | Promise<boolean>;
}

const commands: readonly Command[] = [
  {
    name: 'compact',
    description: 'Make room now; say what a summary should keep',
    takesText: 'instructions',
    run: (text) => compact(text || undefined),
  },
  {
    name: 'undo',
    description: 'Undo the last compaction',
    run: () => (lastApplied.value ? undo() : refuse('There is no compaction to undo.')),
  },
  {
    name: 'new',
    description: 'Begin an empty conversation',
    run() {
      goToNew();
      return true;
    },
  },
];

function refuse(message: string): false {
  problem.value = { code: 'empty', message };
  return false;
}

/** The commands that what is written may become. */
export function suggestedCommands(text: string): readonly Command[] {
  const typed = text.match(/^\/(\w*)$/)?.[1];
  return typed === undefined ? [] : commands.filter(({ name }) => name.startsWith(typed));
}

export function isCommand(text: string): boolean {
  return commands.some(({ name }) => text === `/${name}`);
}

/** Runs a command, or says the text to the agent. Resolves to whether it was accepted. */
export async function say(text: string): Promise<boolean> {
  const said = text.trim();
  const [, name, rest = ''] = said.match(/^\/(\w+)(?:\s([\s\S]*))?$/) ?? [];
  if (name === undefined) return send(said);
  const command = commands.find((each) => each.name === name);
  if (command) return command.run(rest.trim());
  return refuse(
    `There is no command /${name}. There are ${commands.map((each) => `/${each.name}`).join(', ')}.`,
  );
}
