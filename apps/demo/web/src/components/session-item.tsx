import './session-item.css';
import { useSignal } from '@preact/signals';
import { LoaderCircle, Trash2 } from 'lucide-preact';
import type { SessionSummary } from '../../../src/server/backend.js';
import { plural, timeOfDay } from '../lib/format.js';
import { messagesById } from '../state/messages-by-id.js';
import { addressOf, goToNew, view } from '../state/route.js';
import { busy, phase, sessionId } from '../state/session.js';
import { removeSession } from '../state/sessions.js';
import { drawerOpen } from '../state/view.js';

/** One conversation in the list. Deleting asks once, in place. */
export function SessionItem({ session }: { readonly session: SessionSummary }) {
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
      <li class="session session-asking">
        <p>Delete this conversation and its log?</p>
        <button type="button" class="button" onClick={() => void remove()}>
          Delete
        </button>
        <button
          type="button"
          class="button"
          onClick={() => {
            asking.value = false;
          }}
        >
          Keep
        </button>
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
        <span class="session-title">{session.title || 'Untitled'}</span>
        <span class="session-facts">
          {running && <LoaderCircle class="spin" size={12} aria-label="running" />}
          {timeOfDay(session.updatedAt)} · {plural(messages, 'message')}
        </span>
      </a>
      <button
        type="button"
        class="icon-button session-remove"
        aria-label={`Delete “${session.title}”`}
        onClick={() => {
          asking.value = true;
        }}
      >
        <Trash2 size={16} />
      </button>
    </li>
  );
}
