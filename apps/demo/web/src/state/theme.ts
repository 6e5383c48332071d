import { computed, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'theme';
const order: readonly Theme[] = ['system', 'light', 'dark'];
const root = document.documentElement;

const chosen = signal<Theme>(read());
/** The user's choice; `system` follows the machine. */
export const theme = computed(() => chosen.value);

/** The next of the three. */
export function switchTheme(): void {
  const next = order[(order.indexOf(chosen.peek()) + 1) % order.length] ?? 'system';
  chosen.value = next;
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
