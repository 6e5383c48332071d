import './sessions-column.css';
import { Brain, type LucideIcon, Plus, Rewind, Search } from 'lucide-preact';
import type { SessionSummary } from '../../../src/server/backend.js';
import { dayOf } from '../lib/format.js';
import { info } from '../state/info.js';
import { goToNew, type View, view } from '../state/route.js';
import { foundSessions, search, sessions, sessionsFailed } from '../state/sessions.js';
import { drawerOpen } from '../state/view.js';
import { keys } from './keyboard.js';
import { SessionItem } from './session-item.js';
import { ThemeButton } from './theme-button.js';

/** All conversations by day, with search. */
export function SessionsColumn() {
  const days = byDay(foundSessions.value);
  return (
    <nav class="sessions" aria-label="Conversations">
      <header class="column-header sessions-header">
        <h2>Conversations</h2>
      </header>
      <div class="sessions-tools">
        <label class="sessions-search">
          <Search size={16} aria-hidden="true" />
          <input
            type="search"
            placeholder="Search"
            aria-label="Search conversations"
            value={search.value}
            onInput={(event) => {
              search.value = event.currentTarget.value;
            }}
          />
        </label>
        <button
          type="button"
          class="icon-button sessions-new"
          aria-label="New conversation"
          title="New conversation (n)"
          onClick={() => {
            drawerOpen.value = false;
            goToNew();
          }}
        >
          <Plus size={16} />
        </button>
      </div>
      <div class="sessions-list">
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
        {info.value?.abilities.memory && (
          <li>
            <ViewLink to="memory" label="Memory" icon={Brain} />
          </li>
        )}
        <li>
          <ViewLink to="replay" label="Replay a log" icon={Rewind} />
        </li>
      </ul>
      <footer class="sessions-footer">
        <dl>
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
    const day = dayOf(session.updatedAt);
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
