import { PanelLeft } from 'lucide-preact';
import { drawerOpen, showsSessions } from '../state/view.js';

/** Opens the list of conversations, where there is no room to show it always. */
export function DrawerButton() {
  if (showsSessions.value) return null;
  return (
    <button
      type="button"
      class="icon-button"
      aria-label="Conversations"
      onClick={() => {
        drawerOpen.value = true;
      }}
    >
      <PanelLeft size={16} />
    </button>
  );
}
