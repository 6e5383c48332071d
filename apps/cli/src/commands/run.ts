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
import { rowsOf } from '../terminal/columns.js';
import { EventPrinter } from '../terminal/event-printer.js';
import { answerOnce } from '../terminal/once.js';
import { styleFor } from '../terminal/style.js';

/** The agent file that commands use by default. */
export const DEFAULT_AGENT_FILE = 'agent.yaml';

/** Runs an agent file: a chat on a terminal, or one answer to `--prompt` or piped input. */
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
      help: 'Answer this prompt and exit. Piped text is added below the prompt.',
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
    'Runs an agent file: a chat on a terminal, one answer in a pipe. The agent works in the current folder unless its file names a workspace. OPENAI_BASE_URL is the server of compatible:MODEL.',
  examples: [
    'x run agent.yaml',
    'x run -c                 # the latest session; x run -r lists them',
    'git diff | x run -p "Review this." > review.md',
    'x run agent.yaml -s s-001 --approve all',
  ],
  async run({ values, positionals: [file = DEFAULT_AGENT_FILE], output, errors }) {
    const latest = values.continue ?? false;
    const decides = values.approve.length + values.deny.length > 0;
    const canChat = process.stdin.isTTY === true && values.prompt === undefined && !decides;
    const picks = canChat && values.resume === true && !latest && values.session === undefined;
    // Without a terminal for the answer, a stopped call is continued once.
    const resumes = values.resume === true && canChat && (picks || process.stdout.isTTY === true);
    const isResumed = decides || (values.resume === true && !resumes);
    checkOptions(file, values, isResumed);
    const onTerminal = canChat && !isResumed;
    const prompt = isResumed
      ? ''
      : onTerminal
        ? undefined
        : [values.prompt, await readPiped(values.prompt, errors)].filter(Boolean).join('\n\n').trim();
    if (prompt === '' && !isResumed)
      throw new ArgumentError('The prompt is empty. Write one to standard input, or pass it with --prompt.');

    const allowAll = values['dangerously-allow-all'];
    const { agent, model, mode, sandbox, events, store, close } = await openAgent(file, {
      model: values.model,
      allowAll,
      defaults: { max_retries: MAX_RETRIES },
      trust: values.trust || terminalTrust(),
      warn: (message) => void errors.write(`${message}\n`),
    });
    await keepOutOfGit(agent);
    const stops = [
      shutdownOnSignals(agent, { signals: ['SIGTERM'] }),
      // A user who presses Ctrl-C or closes the terminal wants to stop at once. A chat reads Ctrl-C as a key.
      shutdownOnSignals(agent, { signals: ['SIGHUP', 'SIGINT'], drainMs: 0 }),
    ];
    // The reply goes to standard output. Progress goes there too if it is a terminal.
    const isShown = process.stdout.isTTY === true;
    const progress = isShown ? output : errors;
    const style = styleFor(isShown ? process.stdout : process.stderr);
    try {
      const { user, tenant } = values;
      const owner = { userId: user, tenantId: tenant };
      const goOn = (session?: string) =>
        shellCommand(['run', file], { session, user, tenant, model: values.model });
      const sessions = () => latestSessions(store, { ...owner, agentId: agent.name });
      const [last] = latest ? await sessions() : [];
      if (latest && last === undefined) throw new UsageError('There is no session to continue here yet.');
      const sessionId = last?.key.parts.sessionId ?? values.session ?? randomUUID();
      const context = RuntimeContext.of({ ...owner, sessionId });
      if (prompt === undefined) {
        if (allowAll) progress.write('All tools run without approval.\n');
        const width = process.stdout.columns || 80;
        if (sandbox) progress.write(`${rowsOf(`${sandbox} ${SANDBOX_KEYS}`, width).join('\n')}\n`);
        const reply = isShown ? undefined : output;
        const terminal = { input: process.stdin, output: progress, style, reply };
        await chat({ agent, context, model, mode, events, sessions, goOn, picks, resumes, ...terminal });
      } else {
        const printer = new EventPrinter({ reply: output, progress, style, whole: !isShown });
        const isNew = (await agent.state(context)) === undefined;
        if (isNew || values.session !== sessionId) printer.note(`${isNew ? 'new ' : ''}session ${sessionId}`);
        const ends = (options: string) => `${goOn(sessionId)} ${options}`;
        const decide = decisionsFor(values);
        return await answerOnce({ agent, context, printer, prompt, decide, goOn: ends });
      }
    } finally {
      for (const stop of stops) stop();
      await close();
    }
  },
});

/** Maximum number of retries of a model call. With their growing pauses, they take about 30 seconds: enough for a server to restart. */
const MAX_RETRIES = 6;

const SANDBOX_KEYS =
  'To turn it off, replace shell in the agent file with { ref: shell, config: { sandbox: none } }. To allow network access, set network: internet there.';

/** @throws {ArgumentError} for contradictory options, and for a file that does not exist. */
function checkOptions(
  file: string,
  values: { readonly session?: string; readonly continue?: boolean; readonly prompt?: string },
  isResumed: boolean,
): void {
  const { session, continue: latest = false, prompt } = values;
  if (latest && session !== undefined) {
    throw new ArgumentError('Use either --continue for the latest session, or --session for one by its id.');
  }
  if (session === '') throw new ArgumentError('--session must not be empty.');
  if (isResumed && !latest && session === undefined) {
    throw new UsageError('Select the session to continue: --session ID, or --continue for the latest.');
  }
  if (isResumed && prompt !== undefined)
    throw new ArgumentError(
      'Do not combine --prompt with --resume, --approve or --deny. Send the prompt after that call.',
    );
  if (existsSync(file)) return;
  const remedy = /\.\w+$/.test(file)
    ? `${X} init writes a first ${DEFAULT_AGENT_FILE}.`
    : `To send it as a prompt: ${shellCommand(['run'], { prompt: file })}`;
  throw new ArgumentError(`There is no file ${file}. ${remedy}`);
}

/**
 * Milliseconds to wait for piped input if there is a prompt. A pipe comes from another command, which may be slow. A socket comes from a
 * program that has already written its data.
 */
const INPUT_WAIT_MS = { pipe: 3_000, socket: 200 };

/** Reads piped input. If there is a prompt, gives up on a pipe without data. */
async function readPiped(prompt: string | undefined, errors: NodeJS.WritableStream): Promise<string> {
  const { stdin } = process;
  if (prompt === undefined) return text(stdin);
  if (stdin.fd !== 0) return '';
  const input = await stat('/dev/stdin').catch(() => undefined);
  if (!input || input.isCharacterDevice()) return '';
  const waitMs = input.isSocket() ? INPUT_WAIT_MS.socket : INPUT_WAIT_MS.pipe;
  const hasData = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), waitMs);
    stdin.once('readable', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
  if (hasData) return (await text(stdin)).trim();
  if (!input.isSocket())
    errors.write(`Standard input had no data for ${waitMs / 1000} s, so it is ignored.\n`);
  stdin.pause();
  stdin.unref();
  return '';
}

type Owner = Omit<SessionScope, 'sessionId'> & { readonly agentId: string };

/** Maximum number of sessions to choose from. */
const MAX_LISTED = 9;

/** Lists exactly this owner's sessions, the latest first. */
async function latestSessions(store: SessionStore, owner: Owner): Promise<readonly SessionInfo[]> {
  const found: SessionInfo[] = [];
  for await (const info of store.list(owner)) {
    const { userId, tenantId } = info.key.parts;
    if (userId === owner.userId && tenantId === owner.tenantId) found.push(info);
    if (found.length === MAX_LISTED) break;
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
