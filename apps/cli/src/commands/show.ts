import { headOf, type Message, SessionKey, textOf, toolUsesOf, WorkspaceSessionLog } from '@x/core';
import { type Command, positive, readArguments, UsageError } from '../command.js';
import { identityOptions, openWorkspace, scopeOf } from '../identity-options.js';
import { printable } from '../terminal/style.js';

const usage =
  'x show SESSION [--workspace DIR] [--agent ID] [--user ID] [--tenant ID] [--last N] [--full] [--json]';
const SHORT = 400;

/** Prints the log of a session: every message that ever was, also those that compaction removed. */
export const show: Command = {
  usage,
  summary: 'Prints the log of a session: every message that ever was.',
  async run(args, output) {
    const { values, positionals } = readArguments(usage, args, {
      ...identityOptions,
      last: { type: 'string' },
      full: { type: 'boolean' },
      json: { type: 'boolean' },
    });
    const [sessionId, ...rest] = positionals;
    if (sessionId === undefined || rest.length > 0) throw new UsageError(`Usage: ${usage}`);
    const last = values.last === undefined ? undefined : positive(usage, 'last', values.last);
    const workspace = openWorkspace(values);
    const log = new WorkspaceSessionLog(workspace, SessionKey.of({ ...scopeOf(values), sessionId }));
    if ((await workspace.stat(log.location)) === undefined) {
      throw new UsageError(`There is no log of session "${sessionId}" at ${log.location}; see x sessions.`);
    }
    const messages: Message[] = [];
    for await (const message of log.read()) {
      messages.push(message);
      if (last !== undefined && messages.length > last) messages.shift();
    }
    for (const message of messages) {
      output.write(
        values.json
          ? `${JSON.stringify(message)}\n`
          : `${printable(render(message, values.full ?? false))}\n\n`,
      );
    }
  },
};

function render(message: Message, full: boolean): string {
  const cut = (text: string) =>
    full || text.length <= SHORT ? text : `${headOf(text, SHORT)} … (${text.length} characters)`;
  const kind = message.kind === undefined ? '' : ` (${message.kind})`;
  const calls = toolUsesOf(message).map(({ name, input }) => `→ ${name} ${cut(JSON.stringify(input))}`);
  const text = cut(textOf(message));
  return [`${message.createdAt}  ${message.role}${kind}`, ...(text === '' ? [] : [text]), ...calls].join(
    '\n',
  );
}
