#!/usr/bin/env node
import { XError } from '@x/core';
import { asksForHelp, type Command, columns, helpOf, UsageError } from './command.js';
import { acp } from './commands/acp.js';
import { count } from './commands/count.js';
import { doctor } from './commands/doctor.js';
import { replay } from './commands/replay/replay.js';
import { run } from './commands/run.js';
import { schema } from './commands/schema.js';
import { sessions } from './commands/sessions/sessions.js';
import { show } from './commands/show.js';
import { users } from './commands/users.js';
import { completion } from './completion.js';
import { withoutSecrets } from './stores.js';
import { printable } from './terminal/style.js';
import { version } from './version.js';

const commands: readonly Command[] = [
  replay,
  run,
  acp,
  sessions,
  users,
  { ...show, name: 'show' },
  count,
  schema,
  doctor,
];

const USAGE = [
  'Usage: x COMMAND [options]',
  '',
  'Commands:',
  ...columns([
    ...commands.map(({ name, summary }): [string, string] => [name, summary.split('. ')[0] ?? summary]),
    ['completion', 'Prints the completions of a shell: x completion bash|zsh|fish'],
  ]),
  '',
  'x COMMAND --help says more. Begin with: x replay',
].join('\n');

async function main(args: readonly string[]): Promise<void> {
  const [name = 'help', ...rest] = args;
  const print = (text: string) => process.stdout.write(`${text}\n`);
  if (['help', '--help', '-h'].includes(name)) return void print(USAGE);
  if (['version', '--version', '-v'].includes(name)) return void print(version());
  if (name === 'completion') return void print(completion(commands, rest[0]));
  const command = commands.find((each) => each.name === name);
  if (command === undefined) throw new UsageError(`There is no command "${name}".\n\n${USAGE}`);
  if (asksForHelp(rest)) return void print(helpOf(command, rest));
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
