import type { PermissionContext } from '@x/core/internal';
import {
  compact,
  info,
  lastApplied,
  problem,
  send,
  setPermissionMode,
  setPlanMode,
  state,
  undo,
} from './session.js';
import { addressOf, goToNew, toggleInspector, togglePanel } from './view.js';

export interface Command {
  readonly name: string;
  readonly description: string;
  /** What may follow it, if anything. */
  readonly takesText?: string;
  /** Whether it was accepted; `undefined` is a yes. */
  run(text: string): undefined | boolean | Promise<boolean>;
}

const MODES: readonly NonNullable<PermissionContext['mode']>[] = [
  'default',
  'accept_edits',
  'explore',
  'bypass',
  'dont_ask',
];

/** The terminal's commands, and one for an empty conversation. */
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
    name: 'plan',
    description: 'Switch plan mode; while it is on, the agent only reads',
    takesText: 'on|off',
    run: (text) =>
      info.value?.plans
        ? setPlanMode(text === '' ? !state.value.plan.active : text === 'on')
        : refuse('Only a language model can plan.'),
  },
  {
    name: 'tasks',
    description: 'Show todos and tasks of subagents',
    run: () => void togglePanel(true),
  },
  {
    name: 'permissions',
    description: 'Set what the agent may do without asking in this conversation',
    takesText: 'mode',
    run(text) {
      const mode = MODES.find((each) => each === text);
      return mode ? setPermissionMode(mode) : refuse(`/permissions takes a mode: ${MODES.join(', ')}.`);
    },
  },
  { name: 'context', description: 'Show what the model sees now', run: () => void toggleInspector() },
  {
    name: 'resume',
    description: 'Go on with another conversation',
    takesText: 'session',
    run(text) {
      location.hash = addressOf(text);
      return undefined;
    },
  },
  { name: 'new', description: 'Begin an empty conversation', run: () => void goToNew() },
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
  if (command) return (await command.run(rest.trim())) ?? true;
  return refuse(
    `There is no command /${name}. There are ${commands.map((each) => `/${each.name}`).join(', ')}.`,
  );
}
