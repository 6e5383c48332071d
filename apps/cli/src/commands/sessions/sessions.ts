import { type Command, didYouMean, UsageError } from '../../command.js';
import { show } from '../show.js';
import { copySessions, importSession } from './copy-sessions.js';
import { deleteSession } from './delete-session.js';
import { exportSession } from './export-session.js';
import { listSessions } from './list-sessions.js';

const subcommands = [listSessions, show, exportSession, importSession, copySessions, deleteSession];

/** Lists, reads, exports, imports, copies and deletes stored sessions, in any store. Without a subcommand it lists them. */
export const sessions: Command = {
  ...listSessions,
  name: 'sessions',
  summary:
    'Lists, shows, exports, imports, copies and deletes sessions in any store; without a subcommand, lists them.',
  examples: ['x sessions', 'x sessions list --redis redis://localhost', 'x sessions show s-001'],
  subcommands,
  async run(args, streams) {
    const [name = 'list', ...rest] = args;
    if (name.startsWith('-')) return listSessions.run(args, streams);
    const command = subcommands.find((each) => each.name === `sessions ${name}`);
    if (command !== undefined) return command.run(rest, streams);
    const meant = didYouMean(
      `sessions ${name}`,
      subcommands.map((each) => each.name),
    );
    throw new UsageError(
      `There is no command "sessions ${name}"${meant || '; x sessions --help lists those that there are.'}`,
    );
  },
};
