import { useSignal } from '@preact/signals';
import {
  Brain,
  LoaderCircle,
  type LucideIcon,
  Monitor,
  Moon,
  Plus,
  Rewind,
  Search,
  Sun,
  Trash2,
} from 'lucide-preact';
import type { SessionSummary } from '../../../src/server/backend.js';
import { dayOf, plural, timeOfDay } from '../lib/format.js';
import { messagesById } from '../state/blocks.js';
import { addressOf, goToNew, type View, view } from '../state/route.js';
import { busy, phase, sessionId } from '../state/session.js';
import { foundSessions, removeSession, search, sessions, sessionsFailed } from '../state/sessions.js';
import { drawerOpen, switchTheme, theme } from '../state/view.js';
import { Button, IconButton } from './button.js';
import { keys } from './keyboard.js';

/** All conversations by day, with search. */
export function SessionsColumn() {
  const days = byDay(foundSessions.value);
  return (
    <nav class="column sessions" aria-label="Conversations">
      <header class="column-header row">
        <h2 class="heading">Conversations</h2>
      </header>
      <div class="sessions-tools row">
        <label class="sessions-search search card row grow">
          <Search size={16} aria-hidden="true" />
          <input
            class="grow"
            type="search"
            placeholder="Search"
            aria-label="Search conversations"
            value={search.value}
            onInput={(event) => {
              search.value = event.currentTarget.value;
            }}
          />
        </label>
        <IconButton
          label="New conversation"
          title="New conversation (n)"
          onClick={() => {
            drawerOpen.value = false;
            goToNew();
          }}
          icon={Plus}
        />
      </div>
      <div class="sessions-list scrolls">
        {[...days].map(([day, items]) => (
          <section key={day} aria-label={day}>
            <h3>{day}</h3>
            <ul>
              {items.map((session) => (
                <SessionItem key={session.id} session={session} />
              ))}
            </ul>
          </section>
        ))}
        <EmptyNote />
      </div>
      <ul class="sessions-views">
        <li>
          <ViewLink to="memory" label="Memory" icon={Brain} />
        </li>
        <li>
          <ViewLink to="replay" label="Replay a log" icon={Rewind} />
        </li>
      </ul>
      <footer class="sessions-footer row">
        <dl class="row wrap quiet label">
          {keys.map(([key, meaning]) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <ThemeButton />
      </footer>
    </nav>
  );
}

interface ViewLinkProps {
  readonly to: View;
  readonly label: string;
  readonly icon: LucideIcon;
}

function ViewLink({ to, label, icon: Icon }: ViewLinkProps) {
  return (
    <a
      class="row"
      href={`#/${to}`}
      aria-current={view.value === to ? 'page' : undefined}
      onClick={() => {
        drawerOpen.value = false;
      }}
    >
      <Icon size={16} aria-hidden="true" /> {label}
    </a>
  );
}

function byDay(list: readonly SessionSummary[]): ReadonlyMap<string, readonly SessionSummary[]> {
  const days = new Map<string, SessionSummary[]>();
  for (const session of list) {
    const day = session.damaged ? 'Damaged' : dayOf(session.updatedAt);
    days.set(day, [...(days.get(day) ?? []), session]);
  }
  return days;
}

function EmptyNote() {
  if (sessionsFailed.value) return <p class="sessions-note">The list could not be loaded.</p>;
  if (sessions.value.length === 0) return <p class="sessions-note">What you talk about appears here.</p>;
  if (foundSessions.value.length === 0) return <p class="sessions-note">No conversation has these words.</p>;
  return null;
}

/** One conversation in the list. Deleting asks once, in place. */
function SessionItem({ session }: { readonly session: SessionSummary }) {
  const asking = useSignal(false);
  const current = session.id === sessionId.value;
  const inView = view.value === 'conversation' || view.value === 'inspect';
  // What is open is known to the moment, the rest as of the last look.
  const running = current ? busy.value : session.running;
  const messages = current && phase.value === 'ready' ? messagesById.value.size : session.messageCount;
  const remove = async () => {
    if ((await removeSession(session.id)) && current) goToNew();
  };
  if (asking.value) {
    return (
      <li class="session session-asking row wrap small">
        <p>Delete this conversation and its log?</p>
        <Button onClick={() => void remove()}>Delete</Button>
        <Button
          onClick={() => {
            asking.value = false;
          }}
        >
          Keep
        </Button>
      </li>
    );
  }
  return (
    <li class="session">
      <a
        href={addressOf(session.id)}
        aria-current={current && inView ? 'page' : undefined}
        onClick={() => {
          drawerOpen.value = false;
        }}
      >
        <div class="session-title clip">{session.title || 'Untitled'}</div>
        <span class="tag">
          {running && <LoaderCircle class="spin" size={12} aria-label="running" />}
          {session.damaged
            ? 'cannot be read'
            : `${timeOfDay(session.updatedAt)} · ${plural(messages, 'message')}`}
        </span>
      </a>
      <IconButton
        class="session-remove"
        label={`Delete “${session.title}”`}
        onClick={() => {
          asking.value = true;
        }}
        icon={Trash2}
      />
    </li>
  );
}

const faces = { system: Monitor, light: Sun, dark: Moon };

/** Goes round: as the system, light, dark. */
function ThemeButton() {
  const Icon = faces[theme.value];
  const label = `Theme: ${theme.value}`;
  return <IconButton label={label} onClick={switchTheme} icon={Icon} />;
}
