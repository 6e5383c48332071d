import { Hand, Keyboard, LoaderCircle, Monitor, Moon, Plus, Search, Sun, Trash2 } from 'lucide-preact';
import type { SessionSummary } from '../../../src/page.js';
import { plural, whenOf } from '../lib/format.js';
import {
  busy,
  pending,
  refreshSessions,
  removeSession,
  searched,
  sessionId,
  sessions,
  sessionsFailed,
} from '../state/session.js';
import { found } from '../state/show-message.js';
import { addressOf, filePath, goToNew, keysOpen, switchTheme, theme } from '../state/view.js';
import { IconButton } from './parts.js';

const faces = { system: Monitor, light: Sun, dark: Moon };

/** All conversations, the latest first, with a full-text search. */
export function SessionsColumn() {
  const count = searched.value.trim() && plural(sessions.value.length, 'conversation');
  const note = sessionsFailed.value
    ? 'The list could not be loaded.'
    : searched.value.trim() === ''
      ? 'Your conversations appear here.'
      : 'No conversation has a message or tool call with these words.';
  return (
    <nav class="column sessions" aria-label="Conversations">
      <header class="column-header row">
        <h2 class="heading">Conversations</h2>
      </header>
      <div class="row pad">
        <IconButton label="New conversation" title="New conversation (n)" onClick={goToNew} icon={Plus} />
        <label class="search card row grow">
          <Search size={16} aria-hidden="true" />
          <input
            class="grow"
            type="search"
            placeholder="Search"
            aria-label="Search conversations"
            value={searched.value}
            onInput={(event) => {
              searched.value = event.currentTarget.value;
              void refreshSessions();
            }}
          />
        </label>
      </div>
      <div class="sessions-list scrolls pad">
        <ul>
          {sessions.value.map((session) => (
            <SessionItem key={session.id} session={session} />
          ))}
        </ul>
        <p class="sessions-note quiet label pad" role="status">
          {sessions.value.length === 0 || sessionsFailed.value ? note : count}
        </p>
      </div>
      <footer class="sessions-foot row pad">
        <IconButton label="Keys" title="Keys (?)" onClick={() => (keysOpen.value = true)} icon={Keyboard} />
        <IconButton label={`Theme: ${theme.value}`} onClick={switchTheme} icon={faces[theme.value]} />
      </footer>
    </nav>
  );
}

/** A conversation in the list. Deletion asks for confirmation. */
function SessionItem({ session }: { readonly session: SessionSummary }) {
  const current = session.id === sessionId.value;
  const running = current ? busy.value : session.running;
  const when = session.damaged ? 'cannot be read' : whenOf(session.updatedAt);
  const waits = current ? pending.value.length > 0 : session.waits && !running;
  const remove = async () => {
    const atWork = running ? ' The agent is still working in it, and will be stopped.' : '';
    if (!confirm(`Delete “${session.title || 'Untitled'}” and its log?${atWork}`)) return;
    if ((await removeSession(session.id)) && current) goToNew();
  };
  return (
    <li class="session row">
      <a
        class="press stack tight small pad grow"
        href={addressOf(session.id)}
        aria-current={current ? (filePath.value === '' ? 'page' : 'true') : undefined}
        onClick={() => (found.value = session.found && { ...session.found, session: session.id })}
      >
        <div class="session-title clip">{session.title || 'Untitled'}</div>
        {session.found && <div class="quiet label">{session.found.text}</div>}
        <span class="tag">
          {running && <LoaderCircle class="spin" size={12} aria-label="running" />}
          {waits && <Hand class="accent" size={12} aria-label="waits for you" />}
          {when}
        </span>
      </a>
      <IconButton label={`Delete “${session.title}”, ${when}`} onClick={() => void remove()} icon={Trash2} />
    </li>
  );
}
