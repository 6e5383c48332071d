import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { RuntimeContext, type SessionInfo, type SessionScope, type SessionStore } from '@x/core';
import { type Decisions, shutdownOnSignals } from '@x/harness';
import { keepOutOfGit, openAgent } from '../agent/open-agent.js';
import { terminalTrust } from '../agent/trust.js';
import { ArgumentError, command, shellCommand, UsageError, X } from '../command.js';
import { agentOptions, identityOptions } from '../identity-options.js';
import { chat } from '../terminal/chat.js';
import { EventPrinter } from '../terminal/event-printer.js';
import { answerOnce } from '../terminal/once.js';
import { styleFor } from '../terminal/style.js';

/** The agent file that commands use by default. */
export const DEFAULT_AGENT_FILE = 'agent.yaml';

/** Runs the agent of a file: a chat on a terminal, or one answer to `--prompt` or piped input. */
export const run = command({
  name: 'run',
  takes: '[agent.yaml]',
  options: {
    session: { type: 'string', short: 's', value: 'ID', help: 'The session to continue or to start.' },
    continue: { type: 'boolean', short: 'c', help: 'Continue the latest session of this agent.' },
    ...agentOptions,
    tenant: identityOptions.tenant,
    prompt: {
      type: 'string',
      short: 'p',
      value: 'TEXT',
      help: 'Answer this once, then exit. Text from a pipe is added below.',
    },
    resume: {
      type: 'boolean',
      short: 'r',
      help: 'Continue a call that stopped. Without a session, choose one of the latest.',
    },
    approve: {
      type: 'string',
      multiple: true,
      default: [],
      value: 'ID|all',
      help: 'Approve a pending call.',
    },
    deny: { type: 'string', multiple: true, default: [], value: 'ID|all', help: 'Deny a pending call.' },
    'dangerously-allow-all': { type: 'boolean', help: 'Run all tools without asking, except denied ones.' },
  },
  summary:
    'Runs the agent of a file: a chat on a terminal, one answer in a pipe. It works in this folder unless the file names a workspace.',
  examples: [
    'x run agent.yaml',
    'x run -c                 # the latest session; x run -r lists them',
    'git diff | x run -p "Review this." > review.md',
    'x run agent.yaml -s s-001 --approve all',
  ],
  async run({ values, positionals: [file = DEFAULT_AGENT_FILE], output, errors }) {
    // Long because it is the order of the command, from its options to its end.
    const latest = values.continue ?? false;
    const decides = values.approve.length + values.deny.length > 0;
    const canChat = process.stdin.isTTY === true && values.prompt === undefined && !decides;
    const picks = canChat && values.resume === true && !latest && values.session === undefined;
    const goesOn = decides || (values.resume === true && !picks);
    refuseContradictions(file, values, goesOn);
    const onTerminal = canChat && !goesOn;
    const prompt = goesOn
      ? ''
      : onTerminal
        ? undefined
        : [values.prompt, await piped(values.prompt, errors)].filter(Boolean).join('\n\n').trim();
    if (prompt === '' && !goesOn)
      throw new ArgumentError('There is nothing to ask: standard input is empty, or --prompt is.');

    const allowAll = values['dangerously-allow-all'];
    const { agent, model, events, store, close } = await openAgent(file, {
      model: values.model,
      allowAll,
      trust: values.trust || terminalTrust(),
      warn: (message) => void errors.write(`${message}\n`),
    });
    await keepOutOfGit(agent);
    const stops = [shutdownOnSignals(agent, { signals: ['SIGTERM'] })];
    // A user who presses Ctrl-C wants to stop at once.
    if (!onTerminal) stops.push(shutdownOnSignals(agent, { signals: ['SIGINT'], drainMs: 0 }));
    // The reply goes to standard output. Progress goes there too if it is a terminal.
    const isShown = process.stdout.isTTY === true;
    const progress = isShown ? output : errors;
    const style = styleFor(isShown ? process.stdout : process.stderr);
    try {
      const owner = { userId: values.user, tenantId: values.tenant };
      const sessions = () => latestSessions(store, { ...owner, agentId: agent.name });
      const [last] = latest ? await sessions() : [];
      if (latest && last === undefined) throw new UsageError('There is no session to go on with yet.');
      const sessionId = last?.key.parts.sessionId ?? values.session ?? randomUUID();
      const context = RuntimeContext.of({ ...owner, sessionId });
      if (prompt === undefined) {
        if (allowAll) progress.write('Every tool runs without asking.\n');
        const reply = isShown ? undefined : output;
        await chat({
          agent,
          context,
          model,
          events,
          input: process.stdin,
          output: progress,
          style,
          reply,
          sessions,
          picks,
        });
      } else {
        const printer = new EventPrinter({ reply: output, progress, style, whole: !isShown });
        const isNew = (await agent.state(context)) === undefined;
        if (isNew || values.session !== sessionId) printer.note(`${isNew ? 'new ' : ''}session ${sessionId}`);
        return await answerOnce({
          agent,
          context,
          printer,
          prompt,
          goOn: (waits) =>
            `${shellCommand(['run', file], {
              session: sessionId,
              user: values.user,
              tenant: values.tenant,
              model: values.model,
            })} ${waits ? '--approve all   (or --deny all)' : '--resume'}`,
          decide: decisionsFor(values),
        });
      }
    } finally {
      for (const stop of stops) stop();
      await close();
    }
  },
});

/** @throws {ArgumentError} for contradictory options, and for a file that does not exist. */
function refuseContradictions(
  file: string,
  { session, continue: latest = false }: { readonly session?: string; readonly continue?: boolean },
  goesOn: boolean,
): void {
  if (latest && session !== undefined) {
    throw new ArgumentError('--continue takes the latest session, --session one by name: give one of them.');
  }
  if (session === '') throw new ArgumentError('--session names no session: it is empty.');
  if (goesOn && !latest && session === undefined) {
    throw new UsageError('Name the session to go on with: --session ID, or --continue for the latest.');
  }
  if (existsSync(file)) return;
  const remedy = /\.\w+$/.test(file)
    ? `${X} init writes a first ${DEFAULT_AGENT_FILE}.`
    : `To ask it: ${shellCommand(['run'], { prompt: file })}`;
  throw new ArgumentError(`There is no file ${file}. ${remedy}`);
}

/**
 * Milliseconds to wait for the first piped input in addition to a prompt. A pipe comes from another command; a socket comes from a program,
 * which has already written its data.
 */
const PATIENCE = { pipe: 3_000, socket: 200 };

/** Reads piped input. With a prompt, it does not wait for a pipe to which nothing is written. */
async function piped(prompt: string | undefined, errors: NodeJS.WritableStream): Promise<string> {
  const { stdin } = process;
  if (prompt === undefined) return text(stdin);
  if (stdin.fd !== 0) return '';
  const input = await stat('/dev/stdin').catch(() => undefined);
  if (!input || input.isCharacterDevice()) return '';
  const patience = input.isSocket() ? PATIENCE.socket : PATIENCE.pipe;
  const comes = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), patience);
    stdin.once('readable', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
  if (comes) return (await text(stdin)).trim();
  if (!input.isSocket())
    errors.write(`Nothing came through standard input in ${patience / 1000} s: going on without it.\n`);
  stdin.pause();
  stdin.unref();
  return '';
}

type Owner = Omit<SessionScope, 'sessionId'> & { readonly agentId: string };

/** Maximum number of sessions to choose from. */
const MOST_LISTED = 9;

/** Lists exactly this owner's sessions, the latest first. */
async function latestSessions(store: SessionStore, owner: Owner): Promise<readonly SessionInfo[]> {
  const found: SessionInfo[] = [];
  for await (const info of store.list(owner)) {
    const { userId, tenantId } = info.key.parts;
    if (userId === owner.userId && tenantId === owner.tenantId) found.push(info);
    if (found.length === MOST_LISTED) break;
  }
  return found;
}

/** Converts `--approve` and `--deny` to decisions on pending calls. */
function decisionsFor(values: {
  readonly approve: readonly string[];
  readonly deny: readonly string[];
}): (waiting: readonly string[]) => Decisions {
  const named = (ids: readonly string[], id: string) => ids.includes(id) || ids.includes('all');
  return (waiting) => {
    const unknown = [...values.approve, ...values.deny].filter((id) => id !== 'all' && !waiting.includes(id));
    if (unknown.length > 0) {
      const list = waiting.join(', ') || 'none';
      throw new UsageError(`No pending call matches ${unknown.join(', ')}. Pending calls: ${list}.`);
    }
    return Object.fromEntries(
      waiting.flatMap((id): [string, Decisions[string]][] => {
        if (named(values.deny, id)) return [[id, { type: 'deny' }]];
        return named(values.approve, id) ? [[id, { type: 'approve' }]] : [];
      }),
    );
  };
}
