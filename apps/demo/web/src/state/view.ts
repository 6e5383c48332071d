import { computed, signal } from '@preact/signals';

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
/** The panel as a sheet over the conversation, where there is no room beside it. */
export const sheetOpen = signal(false);
/** The list of sessions as a drawer, where there is no room beside the conversation. */
export const drawerOpen = signal(false);

export function togglePanel(): void {
  if (hasRoomForPanel.peek()) wantsPanel.value = !wantsPanel.peek();
  else sheetOpen.value = !sheetOpen.peek();
}
