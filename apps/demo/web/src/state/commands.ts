import type { PermissionContext } from '@x/core';
import { lastApplied } from './blocks.js';
import { info } from './info.js';
import { addressOf, goToNew, toggleInspector } from './route.js';
import { compact, problem, send, setPermissionMode, setPlanMode, undo, work } from './session.js';
import { showPanel } from './view.js';

export interface Command {
  readonly name: string;
  readonly description: string;
  /** What may follow it, if anything. */
  readonly takesText?: string;
  /** Resolves to whether it was accepted. */
  run(text: string): boolean | Promise<boolean>;
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
    description: 'Take the last compaction back',
    run: () => (lastApplied.value ? undo(lastApplied.value.id) : refuse('There is no compaction to undo.')),
  },
  {
    name: 'plan',
    description: 'Switch plan mode; while it is on, the agent only reads',
    takesText: 'on|off',
    run: (text) =>
      info.value?.plans
        ? setPlanMode(text === '' ? !work.value.plan.active : text === 'on')
        : refuse('Plan mode is there where a language model answers.'),
  },
  { name: 'tasks', description: 'Show todos and what subagents do', run: () => done(showPanel) },
  {
    name: 'permissions',
    description: 'Set what the agent may do unasked in this conversation',
    takesText: 'mode',
    run(text) {
      const mode = MODES.find((each) => each === text);
      return mode === undefined
        ? refuse(`A mode stands behind /permissions: ${MODES.join(', ')}.`)
        : setPermissionMode(mode);
    },
  },
  { name: 'context', description: 'Show what the model sees now', run: () => done(toggleInspector) },
  {
    name: 'resume',
    description: 'Go on with another conversation',
    takesText: 'session',
    run: (text) => done(() => (location.hash = addressOf(text))),
  },
  { name: 'new', description: 'Begin an empty conversation', run: () => done(goToNew) },
];

function done(action: () => unknown): true {
  action();
  return true;
}

function refuse(message: string): false {
  problem.value = { code: 'empty', message };
  return false;
}

/** The commands that what is written may become. */
export function suggestedCommands(text: string): readonly Command[] {
  const typed = text.match(/^\/(\w*)$/)?.[1];
  return typed === undefined ? [] : commands.filter(({ name }) => name.startsWith(typed));
}

/** The command that was written out, and what follows it. */
export function commandOf(text: string): { readonly command: Command; readonly rest: string } | undefined {
  const match = text.match(/^\/(\w+)(?:\s+([\s\S]*))?$/);
  const command = commands.find(({ name }) => name === match?.[1]);
  return command && { command, rest: match?.[2]?.trim() ?? '' };
}

/** Carries out what was written: a command to the page, or something to tell the agent. Whether it was accepted. */
export async function say(text: string): Promise<boolean> {
  const found = commandOf(text.trim());
  if (found) return found.command.run(found.rest);
  const unknown = /^\/(\w+)(?:\s|$)/.exec(text.trim())?.[1];
  if (unknown === undefined) return send(text.trim());
  const known = commands.map(({ name }) => `/${name}`).join(', ');
  return refuse(`There is no command /${unknown}. There are ${known}.`);
}
