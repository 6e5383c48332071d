import { batch, computed, effect, signal } from '@preact/signals';
import { openSession, phase, places, sessionId, startSession, title } from './session.js';

/** The file that replaces the conversation; empty for none. */
export const filePath = signal('');
/** The place that the panel shows, from 1: a request, a compaction or an undo. `undefined`: the current window. */
export const lookedAt = signal<number | undefined>(undefined);
/** The place that {@link lookedAt} names; `undefined` if the session does not have it. */
export const shownPlace = computed(() => places.value[(lookedAt.value ?? 0) - 1]);

/** Parses the URL: `#/s/<id>`, `#/s/<id>/<place>`, `#/file/<path>`. Any other URL is a new conversation. */
function addressed(): {
  readonly session?: string;
  readonly at?: number | undefined;
  readonly path?: string;
} {
  const [, kind = '', name = '', at] =
    /^#\/(s|file)(?:\/([^/]+))?(?:\/([1-9]\d*))?$/.exec(location.hash) ?? [];
  if (kind === 'file') return { path: decoded(name) };
  if (kind !== 's') return {};
  return { session: decoded(name), at: at === undefined ? undefined : Number(at) };
}

/** Decodes a part of a URL. A part with a truncated character stays as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Synchronizes URL and view, so that reload and the back button work. */
export function startRouting(): void {
  const follow = () => {
    const place = addressed();
    filePath.value = place.path ?? '';
    if (layersInHistory() === 0) drawerOpen.value = sheetOpen.value = false;
    // The session stays open while a file is shown.
    if (place.path !== undefined) return;
    lookedAt.value = place.at;
    if (place.at !== undefined) showPanel();
    if (place.session === undefined) startSession();
    else openSession(place.session);
  };
  let last = { layer: 0, href: '' };
  const remember = () => (last = { layer: layersInHistory(), href: location.href });
  const navigated = () => {
    // The entry of a layer that was closed in another way would make Back do nothing.
    const isEmpty = last.layer > Math.max(layers.peek(), layersInHistory()) && last.href === location.href;
    batch(() => {
      while (layers.value > layersInHistory()) closeTop();
      follow();
    });
    remember();
    if (isEmpty) history.back();
  };
  for (const type of ['popstate', 'hashchange']) addEventListener(type, navigated);
  // Otherwise the address of a place would open the closed sheet again.
  effect(() => {
    if (!hasRoomForPanel.value && !sheetOpen.value) lookedAt.value = undefined;
  });
  effect(() => {
    document.title = `${title.value || 'Context'} · x`;
  });
  batch(follow);
  // Each opened layer has an entry in the history, so that Back closes it. A place that opens with its sheet has one entry for both. This
  // effect runs before the one that sets the address.
  effect(() => {
    const [open, known] = [layers.value, layersInHistory()];
    const address = location.href;
    // Below the entry of a place, the history has an entry of the conversation without a place.
    if (open > known && known === 0)
      history.replaceState(null, '', address.replace(/(#\/s\/[^/]+)\/\d+$/, '$1'));
    if (open > known) history.pushState({ layer: open }, '', address);
    remember();
  });
  effect(() => {
    // A session gets its URL once it exists.
    if (phase.value !== 'ready' || filePath.value !== '') return;
    const { session, at } = addressed();
    const address = addressOf(sessionId.value, lookedAt.value);
    if (session !== sessionId.value) history.pushState(null, '', address);
    // Replaced, not pushed, so that going back leaves the place instead of stepping through requests.
    else if (at !== lookedAt.value) history.replaceState(history.state, '', address);
    remember();
  });
}

export function addressOf(id: string, place?: number): string {
  return `#/s/${encodeURIComponent(id)}${place === undefined ? '' : `/${place}`}`;
}

export function fileAddress(path: string): string {
  return `#/file/${encodeURIComponent(path)}`;
}

/** Shows a place in the panel. Without one, shows the current window. */
export function inspect(place: number | undefined): void {
  lookedAt.value = place;
  showPanel();
}

/** Returns to the open conversation. */
export function goToConversation(): void {
  if (filePath.peek() === '') return;
  if (phase.peek() === 'ready') location.hash = addressOf(sessionId.peek(), lookedAt.peek());
  else goToNew();
}

/** Opens an empty conversation. */
export function goToNew(): void {
  if (location.hash)
    history[layersInHistory() > 0 ? 'replaceState' : 'pushState'](null, '', location.pathname);
  batch(() => {
    filePath.value = '';
    lookedAt.value = undefined;
    drawerOpen.value = false;
    startSession();
  });
}

/** Number of open layers: dialogs, and a place that the panel shows. */
const layers = computed(() => {
  const showsPlace = lookedAt.value !== undefined && (hasRoomForPanel.value || sheetOpen.value);
  return [sheetOpen.value, drawerOpen.value, keysOpen.value, showsPlace].filter(Boolean).length;
});

function layersInHistory(): number {
  return Number(history.state?.layer ?? 0);
}

function closeTop(): void {
  const dialog = [keysOpen, drawerOpen].find((open) => open.peek());
  if (dialog) dialog.value = false;
  else if (lookedAt.peek() !== undefined) lookedAt.value = undefined;
  else sheetOpen.value = false;
}

/** Returns a media query as a signal. */
function media(query: string) {
  const list = matchMedia(query);
  const matches = signal(list.matches);
  list.addEventListener('change', () => {
    matches.value = list.matches;
  });
  return matches;
}

/** Whether the user writes with a finger: Enter makes a new line there, because the keyboard has no Shift+Enter. */
export const isTouch = media('(pointer: coarse)');
/** Whether there is room for the list of sessions next to the conversation. */
export const showsSessions = media('(min-width: 1100px)');
/** Whether there is room for the context panel next to the conversation. */
const hasRoomForPanel = media('(min-width: 760px)');
/** Whether the user wants the panel, if there is room. */
const wantsPanel = signal(true);
export const showsPanel = computed(() => hasRoomForPanel.value && wantsPanel.value);
/** Without room, the panel is a sheet, and the list of sessions a drawer. */
export const sheetOpen = signal(false);
export const drawerOpen = signal(false);
/** Whether the keyboard shortcuts are shown. */
export const keysOpen = signal(false);
/** Whether the view follows new content at the end. When it becomes true, nothing scrolls, because a press would miss its target. */
export const following = signal(true);
/** Whether the view stays at a place that a link led to, until the user scrolls. */
export const holds = signal(false);

/** Goes to the end of the conversation, and follows new content there. */
export function followEnd(): void {
  holds.value = false;
  following.value = true;
  const view = document.querySelector('.conversation-scroll');
  view?.scrollTo({ top: view.scrollHeight });
}

/** Shows or hides the panel or, without room, the sheet. */
export function togglePanel(): void {
  const part = hasRoomForPanel.peek() ? wantsPanel : sheetOpen;
  part.value = !part.peek();
}

export function showPanel(): void {
  (hasRoomForPanel.peek() ? wantsPanel : sheetOpen).value = true;
}

const THEMES = ['system', 'light', 'dark'] as const;
const root = document.documentElement;
/** The user's choice; `system` follows the operating system. `theme.js` has read it from storage. */
export const theme = signal(THEMES.find((name) => name === root.dataset.theme) ?? 'system');

export function switchTheme(): void {
  const next = THEMES[(THEMES.indexOf(theme.peek()) + 1) % THEMES.length] ?? 'system';
  theme.value = next;
  root.dataset.theme = next;
  try {
    localStorage.setItem('theme', next);
  } catch {
    // If storage is blocked, the choice lasts until the page is closed.
  }
}

const opened = signal<ReadonlySet<string>>(new Set());

/** Returns whether a collapsible item is open: a tool call, a compaction, a thought. */
export function isOpen(id: string): boolean {
  return opened.value.has(id);
}

export function setOpen(id: string, open = !opened.peek().has(id)): void {
  const next = new Set(opened.peek());
  if (open) next.add(id);
  else next.delete(id);
  opened.value = next;
}
