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

const DEFAULT_FILE = 'agent.yaml';

/** Runs the agent of a file: a chat on a terminal; one answer for `--prompt` or for what comes through a pipe. */
export const run = command({
  name: 'x run',
  takes: '[agent.yaml]',
  options: {
    session: { type: 'string', short: 's', value: 'ID' },
    user: { type: 'string', short: 'u', value: 'ID' },
    tenant: { type: 'string', short: 't', value: 'ID' },
    model: { type: 'string', short: 'm', value: 'PROVIDER:MODEL' },
    prompt: { type: 'string', short: 'p', value: 'TEXT' },
    resume: { type: 'boolean' },
    approve: { type: 'string', multiple: true, default: [], value: 'ID|all' },
    deny: { type: 'string', multiple: true, default: [], value: 'ID|all' },
  },
  summary: 'Runs the agent of a file: a chat on a terminal, one answer in a pipe.',
  async run({ values, positionals: [file = DEFAULT_FILE], output }) {
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
