import { effect } from '@preact/signals';
import { openSession, phase, sessionId, startSession } from './session.js';

/** The session that the address names, if any: `#/s/<id>`. */
function addressed(): string | undefined {
  const match = location.hash.match(/^#\/s\/(.+)$/);
  return match?.[1] === undefined ? undefined : decodeURIComponent(match[1]);
}

/** Keeps the address and what is shown in step, so that a reload and the back button do what one expects. */
export function startRouting(): void {
  const follow = () => {
    const id = addressed();
    if (id === undefined) startSession();
    else void openSession(id);
  };
  addEventListener('hashchange', follow);
  follow();
  effect(() => {
    // A session gets its address once it exists.
    if (phase.value === 'ready' && addressed() !== sessionId.value) {
      history.pushState(null, '', addressOf(sessionId.value));
    }
  });
}

export function addressOf(id: string): string {
  return `#/s/${encodeURIComponent(id)}`;
}

/** Goes to an empty conversation. */
export function goToNew(): void {
  if (location.hash) history.pushState(null, '', location.pathname);
  startSession();
}
