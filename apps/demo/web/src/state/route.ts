import { effect, signal } from '@preact/signals';
import { openSession, phase, sessionId, startSession, title } from './session.js';
import { lookedAt } from './view.js';

/** What the page shows in its middle. */
export type View = 'conversation' | 'inspect' | 'memory' | 'replay' | 'file';

interface Place {
  readonly view: View;
  /** The session that the address names, if any. */
  readonly session?: string | undefined;
  readonly path?: string;
  /** The request that the inspector shows; the next one when left out. */
  readonly step?: number | undefined;
}

export const view = signal<View>('conversation');
/** The file that the `file` view shows. */
export const filePath = signal('');

/**
 * `#/s/<id>`, `#/s/<id>/inspect`, `#/s/<id>/inspect/<request>`, `#/memory`, `#/replay`, `#/file/<path>`; anything else is a new
 * conversation.
 */
function addressed(): Place {
  const { hash } = location;
  if (hash === '#/memory' || hash === '#/replay') return { view: hash === '#/memory' ? 'memory' : 'replay' };
  const [, path] = /^#\/file\/(.+)$/.exec(hash) ?? [];
  if (path !== undefined) return { view: 'file', path: decoded(path) };
  const [, id, inspect, step] = /^#\/s\/([^/]+)(\/inspect(?:\/([1-9]\d*))?)?$/.exec(hash) ?? [];
  if (id === undefined) return { view: 'conversation' };
  const session = decoded(id);
  if (inspect === undefined) return { view: 'conversation', session };
  return { view: 'inspect', session, step: step === undefined ? undefined : Number(step) };
}

/** A part of an address; one that was cut off in the middle of a character names what nobody has. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Keeps the address and what is shown in step, so that a reload and the back button do what one expects. */
export function startRouting(): void {
  const follow = () => {
    const place = addressed();
    if (place.view === 'inspect') lookedAt.value = place.step;
    // A request of another session.
    else if (place.view === 'conversation' && place.session !== sessionId.peek()) lookedAt.value = undefined;
    view.value = place.view;
    // What is open stays open behind the other views.
    if (place.path !== undefined) filePath.value = place.path;
    if (place.view !== 'conversation' && place.view !== 'inspect') return;
    if (place.session === undefined) startSession();
    else void openSession(place.session);
  };
  addEventListener('hashchange', follow);
  effect(() => {
    document.title = `${title.value || 'Context'} · x`;
  });
  follow();
  effect(() => {
    // A session gets its address once it exists.
    if (phase.value !== 'ready' || view.peek() !== 'conversation') return;
    if (addressed().session !== sessionId.value) history.pushState(null, '', addressOf(sessionId.value));
  });
  effect(() => {
    const step = lookedAt.value;
    const place = addressed();
    if (place.view !== 'inspect' || place.session === undefined || place.step === step) return;
    // In its place: going back leaves the inspector, not one request after the other.
    history.replaceState(null, '', inspectAddress(place.session));
  });
}

function inspectAddress(id: string): string {
  const step = lookedAt.peek();
  return `${addressOf(id)}/inspect${step === undefined ? '' : `/${step}`}`;
}

export function addressOf(id: string): string {
  return `#/s/${encodeURIComponent(id)}`;
}

export function fileAddress(path: string): string {
  return `#/file/${encodeURIComponent(path)}`;
}

/** Between the conversation and what is behind it. */
export function toggleInspector(): void {
  // Also while it loads: who sees the page may press a key.
  if (phase.peek() === 'new') return;
  const id = sessionId.peek();
  location.hash = view.peek() === 'inspect' ? addressOf(id) : inspectAddress(id);
}

/** Back to the conversation that is open. */
export function goToConversation(): void {
  if (view.peek() === 'conversation') return;
  if (phase.peek() === 'ready') location.hash = addressOf(sessionId.peek());
  else goToNew();
}

/** Goes to an empty conversation. */
export function goToNew(): void {
  if (location.hash) history.pushState(null, '', location.pathname);
  view.value = 'conversation';
  lookedAt.value = undefined;
  startSession();
}
