import { InvalidInputError, XError } from '@x/core';
import { printable } from '@x/harness/view';
import {
  asksForHelp,
  type Command,
  columns,
  didYouMean,
  helpOf,
  type Streams,
  UsageError,
  X,
} from './command.js';
import { acp } from './commands/acp.js';
import { doctor } from './commands/doctor.js';
import { init } from './commands/init.js';
import { memory } from './commands/memory.js';
import { replay } from './commands/replay/replay.js';
import { run } from './commands/run.js';
import { schema } from './commands/schema.js';
import { sessions } from './commands/sessions/sessions.js';
import { users } from './commands/users.js';
import { withoutSecrets } from './stores.js';
import { version } from './version.js';

const commands: readonly Command[] = [replay, init, run, acp, sessions, memory, users, schema, doctor];

const USAGE = [
  `Usage: ${X} COMMAND [options]`,
  '',
  'Commands:',
  ...columns(commands.map(({ name, summary }) => [name, summary.split(/\.(?: |$)/)[0] ?? summary])),
  '',
  `For details: ${X} help COMMAND. Start with: ${X} replay`,
].join('\n');

/**
 * Runs `x` with these arguments.
 *
 * @returns the exit code: 0, 1 for a failure, 2 for invalid arguments or files, or the command's own.
 */
export async function runCli(args: readonly string[], streams: Streams): Promise<number> {
  try {
    return (await dispatch(args, streams)) ?? 0;
  } catch (error) {
    const known = XError.isInstance(error) || error instanceof UsageError;
    const text = known ? (error as Error).message : String((error as Error)?.stack ?? error);
    streams.errors.write(`${printable(withoutSecrets(text))}\n`);
    return error instanceof UsageError || InvalidInputError.isInstance(error) ? 2 : 1;
  }
}

async function dispatch(args: readonly string[], streams: Streams): Promise<number | undefined> {
  const isHelp = args[0] === 'help' && args.length > 1;
  const [name = 'help', ...rest] = isHelp ? [...args.slice(1), '--help'] : args;
  const print = (text: string) => void streams.output.write(`${text}\n`);
  if (['help', '--help', '-h'].includes(name)) return print(USAGE);
  if (['version', '--version', '-v'].includes(name)) return print(version());
  const found = commands.find((each) => each.name === name);
  if (found === undefined) {
    const within = commands.flatMap(({ subcommands = [] }) => subcommands.map((each) => each.name));
    const fullName = within.find((each) => each.endsWith(` ${name}`)) ?? name;
    const meant = didYouMean(fullName, [...commands.map((each) => each.name), ...within, 'help', 'version']);
    throw new UsageError(`There is no command "${name}"${meant || `.\n\n${USAGE}`}`);
  }
  if (asksForHelp(rest)) return print(helpOf(found, rest));
  return found.run(rest, streams);
}
