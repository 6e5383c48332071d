import { goToNew } from './route.js';
import { compact, send } from './session.js';

export interface Command {
  readonly name: 'compact' | 'new';
  readonly description: string;
  /** What may follow it, if anything. */
  readonly takesText?: string;
}

const commands: readonly Command[] = [
  {
    name: 'compact',
    description: 'Make room now; say what a summary should keep',
    takesText: 'instructions',
  },
  { name: 'new', description: 'Begin an empty conversation' },
];

/** The commands that what is written may become. */
export function suggestedCommands(text: string): readonly Command[] {
  const typed = text.match(/^\/(\w*)$/)?.[1];
  return typed === undefined ? [] : commands.filter(({ name }) => name.startsWith(typed));
}

/** The command that was written out, with what follows it. */
export function commandOf(
  text: string,
): { readonly name: Command['name']; readonly text: string } | undefined {
  const match = text.match(/^\/(\w+)(?:\s+([\s\S]*))?$/);
  const command = commands.find(({ name }) => name === match?.[1]);
  return command && { name: command.name, text: match?.[2]?.trim() ?? '' };
}

/** Carries out what was written: a command to the page, or something to tell the agent. Whether it was accepted. */
export async function say(text: string): Promise<boolean> {
  const command = commandOf(text.trim());
  if (command?.name === 'compact') return compact(command.text || undefined);
  if (command?.name !== 'new') return send(text.trim());
  goToNew();
  return true;
}
