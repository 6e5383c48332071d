import './panel-button.css';
import { PanelRight } from 'lucide-preact';
import { share } from '../lib/format.js';
import { context } from '../state/session.js';
import { showsPanel, togglePanel } from '../state/view.js';
import { windowSize } from '../state/window-size.js';

/** Shows and hides the context panel; while it is hidden, says how full the window is. */
export function PanelButton() {
  const hidden = !showsPanel.value;
  return (
    <button
      type="button"
      class="panel-button"
      aria-label="Context panel"
      aria-pressed={!hidden}
      title="Context (c)"
      onClick={togglePanel}
    >
      {hidden && context.value && <span>{share(context.value.total, windowSize.value)}</span>}
      <PanelRight size={16} aria-hidden="true" />
    </button>
  );
}
