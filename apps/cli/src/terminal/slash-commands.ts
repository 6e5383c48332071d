import { randomUUID } from 'node:crypto';
import {
  type AgentState,
  assistantMessage,
  type ContextUsage,
  type Message,
  type RuntimeContext,
  readText,
  toolResultMessage,
} from '@x/core';
import { Numbering, PERMISSION_MODES, renderTodos } from '@x/core/internal';
import { type EventLog, formatRule, type HarnessAgent, subagentTasks } from '@x/harness';
import { runProgram } from '@x/harness/internal';
import { shortNumber } from '@x/harness/view';
import { columns, didYouMean } from '../command.js';
import { renderMessage } from '../commands/show.js';
import { costLines, explanation, requestOf } from '../session-events.js';
import { clip } from './columns.js';
import { compactionLines, fullnessInWords, stepNotes, undoInWords, usageIn } from './compaction-words.js';
import { sources } from './sources.js';

/** The agent and the session that a command works on. */
export interface ChatScope {
  readonly agent: HarnessAgent;
  readonly context: RuntimeContext;
  /** The permission mode of sessions that set none. */
  readonly mode?: string | undefined;
  /** Stores the events of the agent's sessions. */
  readonly events: EventLog;
  /** The tokens in the window, if they are known. */
  readonly usage?: ContextUsage | undefined;
  /** Stops the command. */
  readonly signal: AbortSignal;
}

/**
 * The effect of a command: a text to show (and messages by which the model learns of it), a turn to run, the choice of a session, or the end.
 */
export type CommandResult =
  | { readonly say: string; readonly ran?: readonly Message[] }
  | { readonly resume: true }
  | { readonly pick: true }
  | { readonly exit: true };

interface SlashCommand {
  readonly usage: string;
  readonly summary: string;
  /** The capability without which the command has no effect. */
  readonly needs?: string;
  /** Runs the command. If it returns a text, the text is shown. */
  run(scope: ChatScope, argument: string): Promise<string | CommandResult>;
}

/**
 * Returns the id of a message by its running number (`r12` in records and in `recall`), and the id of the last message before it. If the
 * message is a tool result, `before` is the message before its call.
 */
async function messageAt({ agent, context }: Pick<ChatScope, 'agent' | 'context'>, at: number) {
  const numbering = new Numbering();
  let last: string | undefined;
  let before: string | undefined;
  for await (const message of agent.log(context).read()) {
    const number = numbering.next(message);
    if (number === undefined) continue;
    if (message.role !== 'tool') before = last;
    if (number === at) return { id: message.id, before };
    last = message.id;
  }
  return {};
}

/** Matches the number in `from r12`, and instructions behind a comma. They contain no second number: it could be a range. */
const FROM = /^from\s+#?r?(\d+)(?:[,:;.](\D*))?$/is;

/** Tests if an argument seems to name messages. Used as instructions, it would not keep the messages that the user wants to keep. */
function namesMessages(argument: string): boolean {
  const words = argument.split(/\s+/);
  return words[0]?.toLowerCase() === 'from' || (words.length <= 3 && /\d/.test(argument));
}

const NOTHING_YET = 'This session has no messages yet.';

const commands: Readonly<Record<string, SlashCommand>> = {
  '/compact': {
    usage: '/compact [from rN,] [instructions]',
    summary:
      'compacts the context now; `from rN` keeps message N and all after it; instructions say what else to keep',
    async run({ agent, context, events }, argument) {
      const from = FROM.exec(argument);
      if (from === null && namesMessages(argument))
        return 'Not compacted. `/compact from r12, keep the prices` keeps message 12, all after it, and the prices.';
      const [, number, instructions = ''] = from ?? ['', undefined, argument];
      const upTo = number && (await messageAt({ agent, context }, Number(number))).before;
      if (upTo === undefined && number !== undefined) return `There is no message before r${number}.`;
      const { context: seen = [] } = (await agent.state(context)) ?? {};
      if (upTo && !seen.some(({ id }) => id === upTo))
        return `Everything before r${number} is already compacted.`;
      const outcome = await agent.compact(context, {
        ...(instructions.trim() && { instructions: instructions.trim() }),
        ...(upTo && { upTo }),
      });
      const { status, message, steps, tokensBefore: before, tokensAfter: after } = outcome;
      const { gone, all } = (await agent.explain(context)) ?? {};
      const fullness = fullnessInWords(usageIn(await events.read(agent, context)));
      const full = fullness && ` The window is ${fullness} full.`;
      const say =
        status === 'applied'
          ? `Compacted: ${shortNumber(before)} → ${shortNumber(after)} tokens, ${shortNumber(before - after)} saved in each request. ${gone} of ${all} messages are gone or shortened: /explain lists them. /undo undoes it.${full}`
          : `Not compacted (${status}): ${message}`;
      return [say, ...stepNotes(steps)].join('\n');
    },
  },
  '/undo': {
    usage: '/undo',
    summary: 'undoes the last compaction',
    async run({ agent, context, events }) {
      const before = compactionLines(await events.read(agent, context));
      if (!(await agent.undo(context))) return 'There is nothing to undo.';
      return undoInWords(before, await events.read(agent, context));
    },
  },
  '/pin': {
    usage: '/pin [rN | text]',
    summary: 'keeps message N, or a text, word for word; without either, lists the pins',
    async run({ agent, context }, argument) {
      const [, number] = /^r(\d+)$/i.exec(argument) ?? [];
      const messageId = number && (await messageAt({ agent, context }, Number(number))).id;
      if (number !== undefined && messageId === undefined) return `There is no message r${number}.`;
      if (argument !== '') {
        const pin = await agent.pin(context, messageId ? { messageId } : { text: argument });
        return `Pinned; /unpin ${pin.id} removes the pin: ${clip(pin.text, 80)}`;
      }
      const { pins = [] } = (await agent.explain(context)) ?? {};
      const lines = pins.map(({ id, text }) => `${id} ${clip(text.replaceAll(/\s+/g, ' '), 80)}`);
      return lines.length > 0 ? lines.join('\n') : 'Nothing is pinned.';
    },
  },
  '/unpin': {
    usage: '/unpin ID',
    summary: 'removes a pin',
    async run({ agent, context }, id) {
      return (await agent.unpin(context, id))
        ? `${id} is no longer pinned.`
        : `There is no pin "${id}": /pin lists all pins.`;
    },
  },
  '/explain': {
    usage: '/explain',
    summary: 'shows what the model no longer sees, where it is, and why it was removed',
    async run({ agent, context, events }) {
      const receipt = await agent.explain(context);
      return receipt ? explanation(receipt, await events.read(agent, context)) : NOTHING_YET;
    },
  },
  '/plan': {
    usage: '/plan [on|off]',
    summary: 'shows the plan of this session; turns plan mode on or off',
    needs: 'plan_mode',
    async run({ agent, context }, argument) {
      if (argument === 'on' || argument === 'off') {
        await agent.updateState(context, (state) => {
          state.planModeContext = { ...state.planModeContext, active: argument === 'on' };
        });
      }
      const state = await agent.state(context);
      if (state === undefined) return NOTHING_YET;
      const mode = state.planModeContext.active
        ? 'Plan mode is on: nothing is changed until the plan is approved.'
        : 'Plan mode is off.';
      return `${mode}\n${(await readPlan(agent, state)) ?? 'There is no plan.'}`;
    },
  },
  '/tasks': {
    usage: '/tasks',
    summary: 'shows the todo list and the tasks of subagents',
    async run({ agent, context }) {
      const todos = (await agent.state(context))?.tasksContext.todos ?? [];
      const lines = (await subagentTasks(agent.session, agent.keyOf(context))).map(
        ({ taskId, status, task, error }) =>
          `${taskId} ${status}: ${clip(task, 80)}${error === undefined ? '' : `\n  ${clip(error, 200)}`}`,
      );
      return [todos.length === 0 ? 'The todo list is empty.' : renderTodos(todos), ...lines].join('\n');
    },
  },
  '/permissions': {
    usage: '/permissions [mode]',
    summary: `shows the rules of this session; sets its mode: ${PERMISSION_MODES.join(', ')}`,
    needs: 'permissions',
    async run({ agent, context, mode: configured = 'default' }, argument) {
      const mode = PERMISSION_MODES.find((known) => known === argument);
      if (argument !== '' && mode === undefined)
        return `There is no mode "${argument}". Available: ${PERMISSION_MODES.join(', ')}.`;
      if (mode !== undefined) {
        await agent.updateState(context, (state) => {
          state.permissionContext = { ...state.permissionContext, mode };
        });
      }
      const permissions = (await agent.state(context))?.permissionContext;
      if (permissions === undefined) return NOTHING_YET;
      const rules = (['deny', 'ask', 'allow'] as const).flatMap((kind) =>
        permissions[kind].map((rule) => `${kind} ${formatRule(rule)}`),
      );
      return [
        `Mode: ${permissions.mode ?? configured}`,
        ...(rules.length > 0 ? rules : ['This session has no rules.']),
      ].join('\n');
    },
  },
  '/cost': {
    usage: '/cost',
    summary: 'shows the savings of compaction, and the cost of the session',
    async run({ agent, context, events }) {
      const state = await agent.state(context);
      if (state === undefined) return NOTHING_YET;
      return costLines({ state, events: await events.read(agent, context) }).join('\n');
    },
  },
  '/context': {
    usage: '/context [N]',
    summary: 'shows what fills the context window; with a number, what the model saw in that request',
    async run({ agent, context, events, usage }, argument) {
      const state = await agent.state(context);
      if (state === undefined) return NOTHING_YET;
      if (argument !== '') {
        const seen = requestOf({ events: await events.read(agent, context) }, Number(argument));
        return seen.messages.map((message) => renderMessage(message, false)).join('\n\n');
      }
      const summary = state.summary === undefined ? '' : ', after a summary of earlier messages';
      return [`Messages: ${state.context.length}${summary}.`, ...windowLines(usage)].join('\n');
    },
  },
  '/resume': {
    usage: '/resume',
    summary: 'continues a call that stopped',
    run: async () => ({ resume: true }),
  },
  '/sessions': {
    usage: '/sessions',
    summary: 'lists the latest sessions, to continue one or start another',
    run: async () => ({ pick: true }),
  },
  '/exit': {
    usage: '/exit',
    summary: 'ends the chat; the session is kept',
    run: async () => ({ exit: true }),
  },
  '!': {
    usage: '!COMMAND',
    summary: 'runs a command as you, in this folder; the agent reads the output with your next message',
    needs: 'shell',
    async run({ signal }, line) {
      const program = { file: 'sh', args: ['-c', line] };
      const { status, output } = await runProgram(program, {
        cwd: process.cwd(),
        timeoutMs: 0,
        signal,
        passEnvironment: Object.keys(process.env),
        maxOutputChars: 20_000,
      });
      const use = { type: 'tool_use', id: randomUUID(), name: 'execute', input: { command: line } } as const;
      const say = `${status}\n${output}`.trimEnd();
      return { say, ran: [assistantMessage([use]), toolResultMessage(use, say)] };
    },
  },
};

function help(): string {
  const usages = Object.values(commands).map(({ usage, summary }) => [usage, summary] as const);
  const keys = [
    ['@FILE', 'reads a file with your message; Tab completes names of files and commands'],
    ['Alt+Enter, \\ Enter', 'starts a new line'],
    ['Esc, Ctrl-C', 'stops the running call, or dismisses a question; Ctrl-C also clears the line'],
    ['Ctrl-D, Ctrl-C twice', 'ends the chat, if the line is empty'],
  ] as const;
  return columns([...usages, ...keys], process.stdout.columns).join('\n');
}

/** Describes what is in the window by source, one line each, the largest first. */
function windowLines(usage: ContextUsage | undefined): readonly string[] {
  if (usage === undefined) return [];
  const { total, contextWindow } = usage;
  const share = (tokens: number) => `${Math.round((100 * tokens) / (contextWindow ?? total))} %`;
  const row = (name: string, tokens: number) =>
    `  ${name.padEnd(20)}${shortNumber(tokens).padStart(7)}  ${share(tokens).padStart(5)}`;
  const found = sources.map(({ key, name }) => ({ name, tokens: usage[key] }));
  const filled = found.filter(({ tokens }) => tokens > 0).sort((a, b) => b.tokens - a.tokens);
  return [
    'Tokens in the window:',
    ...filled.map(({ name, tokens }) => row(name, tokens)),
    row('All', total),
    ...(contextWindow === undefined ? [] : [row('Window', contextWindow)]),
  ];
}

/** Returns the commands that begin with a text. */
export function completionsOf(text: string): string[] {
  return [...Object.keys(commands), '/help'].flatMap((name) => (name.startsWith(text) ? [`${name} `] : []));
}

/** Returns whether a text is a command rather than a message. A command is a single line. */
export function isCommand(line: string): boolean {
  return !line.includes('\n') && /^(?:!|\/[a-z]*(\s|$))/.test(line);
}

/** Matches commands that change the session, or leave it for another. Other commands can be answered while a call runs. */
export const WAITS = /^(?:!|\/(?:compact|undo|unpin|resume|sessions)\b|\/(?:pin|plan|permissions)\s+\S)/;

/** Runs a line that begins with a slash or `!`. For an unknown command, the result points to `/help`. */
export async function runCommand(line: string, scope: ChatScope): Promise<CommandResult> {
  const [name = ''] = /^(?:!|\/\S*)/.exec(line) ?? [];
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  const { needs } = command ?? {};
  if (needs !== undefined && !scope.agent.capabilities.includes(needs))
    return { say: `This agent has no ${needs}: add it to the capabilities in its file.` };
  if (command !== undefined) {
    const result = await command.run(scope, line.slice(name.length).trim());
    return typeof result === 'string' ? { say: result } : result;
  }
  if (name === '/help' || name === '/') return { say: help() };
  return {
    say: `There is no command ${name}${didYouMean(name, Object.keys(commands)) || '.'} /help lists all commands.`,
  };
}

/** Returns the plan of a session with its path; `undefined` if there is none yet. */
async function readPlan({ storage }: HarnessAgent, state: AgentState): Promise<string | undefined> {
  const { planFile } = state.planModeContext;
  if (planFile === undefined) return undefined;
  const plan = (await storage.stat(planFile)) ? await readText(storage, planFile) : '(the file is gone)';
  return `${planFile}:\n${plan}`;
}
