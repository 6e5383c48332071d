import { commandOf } from '../lib/commands.js';
import { goToNew } from './route.js';
import { compact, send } from './session.js';

/** Carries out what was written: a command to the page, or something to tell the agent. Whether it was accepted. */
export async function say(text: string): Promise<boolean> {
  const command = commandOf(text.trim());
  if (command?.name === 'compact') return compact(command.text || undefined);
  if (command?.name !== 'new') return send(text.trim());
  goToNew();
  return true;
}
