import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { RuntimeContext } from '@x/core';
import { type Decisions, shutdownOnSignals } from '@x/harness';
import { openAgent } from '../agent/open-agent.js';
import { ArgumentError, command, UsageError } from '../command.js';
import { chat } from '../terminal/chat.js';
import { EventPrinter } from '../terminal/event-printer.js';
import { answerOnce } from '../terminal/once.js';
import { styleFor } from '../terminal/style.js';

/** The agent file of a command that names none. */
export const DEFAULT_AGENT_FILE = 'agent.yaml';

/** Runs the agent of a file: a chat on a terminal; one answer for `--prompt` or for what comes through a pipe. */
export const run = command({
  name: 'run',
  takes: '[agent.yaml]',
  options: {
    session: { type: 'string', short: 's', value: 'ID', help: 'The session to go on with or to begin.' },
    user: { type: 'string', short: 'u', value: 'ID', help: 'The user whose session it is.' },
    tenant: { type: 'string', short: 't', value: 'ID', help: 'The tenant of that user.' },
    model: {
      type: 'string',
      short: 'm',
      value: 'PROVIDER:MODEL',
      help: "A model in place of the file's, as openai:gpt-5.",
    },
    prompt: { type: 'string', short: 'p', value: 'TEXT', help: 'Answer this once instead of chatting.' },
    resume: { type: 'boolean', help: 'Go on where the last call of the session stopped.' },
    approve: {
      type: 'string',
      multiple: true,
      default: [],
      value: 'ID|all',
      help: 'Approve a waiting call.',
    },
    deny: { type: 'string', multiple: true, default: [], value: 'ID|all', help: 'Deny a waiting call.' },
  },
  summary: 'Runs the agent of a file: a chat on a terminal, one answer in a pipe.',
  examples: [
    'x run agent.yaml',
    'git diff | x run agent.yaml > review.md',
    'x run agent.yaml -s s-001 --approve all',
  ],
  async run({ values, positionals: [file = DEFAULT_AGENT_FILE], output }) {
    const decided = values.approve.length + values.deny.length > 0;
    const goesOn = (values.resume ?? false) || decided;
    if (goesOn && values.session === undefined) {
      throw new UsageError('Name the session to go on with: --session ID.');
    }
    const onTerminal = process.stdin.isTTY === true && values.prompt === undefined && !goesOn;
    const prompt = goesOn
      ? ''
      : onTerminal
        ? undefined
        : (values.prompt ?? (await text(process.stdin))).trim();
    if (prompt === '' && !goesOn) throw new ArgumentError('There is nothing to ask.');

    const { agent, close } = await openAgent(file, { model: values.model });
    const stop = shutdownOnSignals(agent, onTerminal ? { signals: ['SIGTERM'] } : {});
    const context = RuntimeContext.of({
      sessionId: values.session ?? randomUUID(),
      userId: values.user,
      tenantId: values.tenant,
    });
    // The reply goes to the output. Progress goes there too when the output is a terminal.
    const progress = process.stdout.isTTY === true ? output : process.stderr;
    const printer = new EventPrinter({
      reply: output,
      progress,
      style: styleFor(process.stdout.isTTY === true ? process.stdout : process.stderr),
      whole: process.stdout.isTTY !== true,
    });
    try {
      if (prompt === undefined) {
        printer.note(`${agent.name} · session ${context.sessionId} · /help lists commands`);
        if (!agent.capabilities.includes('permissions')) {
          printer.note('Its file says nothing of permissions: tools run without asking.');
        }
        const style = styleFor(process.stdout.isTTY === true ? process.stdout : process.stderr);
        await chat({ agent, context, input: process.stdin, output: progress, printer, style });
      } else {
        if (values.session === undefined) printer.note(`session ${context.sessionId}`);
        process.exitCode = await answerOnce({
          agent,
          context,
          printer,
          prompt,
          decide: decisionsFor(values),
        });
      }
    } finally {
      stop();
      await close();
    }
  },
});

/** Turns `--approve` and `--deny` into decisions on the calls that wait. */
function decisionsFor(values: {
  readonly approve: readonly string[];
  readonly deny: readonly string[];
}): (waiting: readonly string[]) => Decisions {
  const named = (ids: readonly string[], id: string) => ids.includes(id) || ids.includes('all');
  return (waiting) => {
    const unknown = [...values.approve, ...values.deny].filter((id) => id !== 'all' && !waiting.includes(id));
    if (unknown.length > 0) {
      const list = waiting.length === 0 ? 'none' : waiting.join(', ');
      throw new UsageError(`No call ${unknown.join(', ')} waits for a decision; these do: ${list}.`);
    }
    return Object.fromEntries(
      waiting.flatMap((id): [string, Decisions[string]][] => {
        if (named(values.deny, id)) return [[id, { type: 'deny' }]];
        return named(values.approve, id) ? [[id, { type: 'approve' }]] : [];
      }),
    );
  };
}
