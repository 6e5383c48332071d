import { computed, signal } from '@preact/signals';
import type { SourceKey } from '../lib/sources.js';

const wide = matchMedia('(min-width: 1100px)');
const roomy = matchMedia('(min-width: 760px)');

/** Room for the list of sessions beside the conversation. */
export const showsSessions = signal(wide.matches);
/** Room for the context panel beside the conversation. */
const hasRoomForPanel = signal(roomy.matches);
/** Where there is room, whether the user wants the panel. */
const wantsPanel = signal(true);

wide.addEventListener('change', () => {
  showsSessions.value = wide.matches;
});
roomy.addEventListener('change', () => {
  hasRoomForPanel.value = roomy.matches;
});

export const showsPanel = computed(() => hasRoomForPanel.value && wantsPanel.value);
/** The request that the inspector shows, from 1; `undefined`: the next one, as it is now. */
export const lookedAt = signal<number | undefined>(undefined);
/** Whether the conversation stays at its end when something comes: one has not gone further up. */
export const following = signal(true);
/** The panel as a sheet over the conversation, where there is no room beside it. */
export const sheetOpen = signal(false);
/** The list of sessions as a drawer, where there is no room beside the conversation. */
export const drawerOpen = signal(false);

/** Shows the panel, or the sheet where there is no room beside the conversation. */
export function showPanel(): void {
  if (hasRoomForPanel.peek()) wantsPanel.value = true;
  else sheetOpen.value = true;
}

export function togglePanel(): void {
  if (hasRoomForPanel.peek()) wantsPanel.value = !wantsPanel.peek();
  else sheetOpen.value = !sheetOpen.peek();
}

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'theme';
const order: readonly Theme[] = ['system', 'light', 'dark'];
const root = document.documentElement;

/** The user's choice; `system` follows the machine. */
export const theme = signal<Theme>(read());

/** The next of the three. */
export function switchTheme(): void {
  const next = order[(order.indexOf(theme.peek()) + 1) % order.length] ?? 'system';
  theme.value = next;
  if (next === 'system') delete root.dataset.theme;
  else root.dataset.theme = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // Storage may be forbidden; the choice then lasts as long as the page.
  }
}

function read(): Theme {
  const { theme: set } = root.dataset;
  return set === 'light' || set === 'dark' ? set : 'system';
}

/** The source under the pointer or the focus, wherever it is shown: bar, legend and timeline light it up together. */
export const hoveredSource = signal<SourceKey | undefined>(undefined);

const opened = signal<ReadonlySet<string>>(new Set());

/** Whether something that can be folded is open: a tool call, a compaction, a thought. */
export function isOpen(id: string): boolean {
  return opened.value.has(id);
}

export function toggleOpen(id: string): void {
  const next = new Set(opened.peek());
  if (!next.delete(id)) next.add(id);
  opened.value = next;
}

export function setOpen(id: string, open: boolean): void {
  if (opened.peek().has(id) !== open) toggleOpen(id);
}
