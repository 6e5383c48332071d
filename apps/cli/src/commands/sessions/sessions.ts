import { type Command, UsageError } from '../../command.js';
import { show } from '../show.js';
import { deleteSession } from './delete-session.js';
import { exportSession } from './export-session.js';
import { listSessions } from './list-sessions.js';

const COMMANDS: Readonly<Record<string, Command>> = {
  list: listSessions,
  show,
  export: exportSession,
  delete: deleteSession,
};

/** Lists, reads, exports and deletes stored sessions, in any store. Without a subcommand it lists them. */
export const sessions: Command = {
  usage: Object.values(COMMANDS)
    .map(({ usage }) => usage)
    .join('\n  '),
  subcommands: COMMANDS,
  summary: 'Lists, shows, exports and deletes sessions in any store; without a subcommand, lists them.',
  async run(args, output) {
    const [name = 'list', ...rest] = args;
    if (name.startsWith('-')) return listSessions.run(args, output);
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (command === undefined) {
      throw new UsageError(`There is no command "sessions ${name}".\nUsage: ${sessions.usage}`);
    }
    return command.run(rest, output);
  },
};
