import { type Command, commandGroup } from '../../command.js';
import { show } from '../show.js';
import { adoptSession } from './adopt-session.js';
import { copySessions, importSession } from './copy-sessions.js';
import { costSession } from './cost-session.js';
import { deleteSession } from './delete-session.js';
import { explainSession } from './explain-session.js';
import { exportSession } from './export-session.js';
import { listSessions } from './list-sessions.js';

/** Lists, reads, exports, imports, copies and deletes stored sessions, in any store. */
export const sessions: Command = commandGroup({
  ...listSessions,
  name: 'sessions',
  summary:
    'Lists, shows, explains, exports, imports, adopts, copies and deletes sessions in any store; without a subcommand, lists them.',
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
