import { type Command, commandGroup } from '../../command.js';
import { show } from '../show.js';
import { copySessions } from './copy-sessions.js';
import { deleteSession } from './delete-session.js';
import { adoptSession, importSession } from './import-session.js';
import { listSessions } from './list-sessions.js';
import { costSession, explainSession, exportSession } from './read-session.js';

/** Lists, reads, exports, imports, copies and deletes stored sessions, in any store. */
export const sessions: Command = commandGroup({
  ...listSessions,
  name: 'sessions',
  summary:
    'Lists, shows, explains, exports, imports, copies and deletes sessions in any store; without a subcommand, lists them.',
  examples: ['x sessions', 'x sessions list --redis redis://localhost', 'x sessions show s-001'],
  subcommands: [
    listSessions,
    show,
    explainSession,
    costSession,
    exportSession,
    importSession,
    adoptSession,
    copySessions,
    deleteSession,
  ],
  fallback: listSessions,
});
