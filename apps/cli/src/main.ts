#!/usr/bin/env node
import { XError } from '@x/core';
import { asksForHelp, type Command, helpOf, UsageError } from './command.js';
import { count } from './commands/count.js';
import { replay } from './commands/replay/replay.js';
import { run } from './commands/run.js';
import { schema } from './commands/schema.js';
import { sessions } from './commands/sessions/sessions.js';
import { show } from './commands/show.js';
import { withoutSecrets } from './stores.js';
import { printable } from './terminal/style.js';

const COMMANDS: Readonly<Record<string, Command>> = { run, sessions, show, replay, count, schema };

const USAGE = `Usage: x COMMAND [options]

${Object.values(COMMANDS)
  .map(({ usage, summary }) => `  ${usage}\n      ${summary}`)
  .join('\n')}`;

async function main(args: readonly string[]): Promise<void> {
  const [name = '', ...rest] = args;
  if (name === '' || name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) throw new UsageError(`There is no command "${name}".\n\n${USAGE}`);
  if (asksForHelp(rest)) {
    process.stdout.write(`${helpOf(command, rest)}\n`);
    return;
  }
  await command.run(rest, process.stdout);
}

// A reader that has seen enough (`x show … | head`) is no failure. An agent that runs stores its session first.
let isRead = true;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  if (process.listenerCount('SIGTERM') === 0) process.exit(0);
  if (isRead) process.kill(process.pid, 'SIGTERM');
  isRead = false;
});

main(process.argv.slice(2)).catch((error: unknown) => {
  const known = XError.isInstance(error) || error instanceof UsageError;
  const text = known ? (error as Error).message : String((error as Error)?.stack ?? error);
  process.stderr.write(`${printable(withoutSecrets(text))}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
