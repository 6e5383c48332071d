import './panel-button.css';
import { PanelRight } from 'lucide-preact';
import { share } from '../lib/format.js';
import { context } from '../state/session.js';
import { showsPanel, togglePanel } from '../state/view.js';
import { windowSize } from '../state/window-size.js';

/** Shows and hides the context panel; while it is hidden, says how full the window is. */
export function PanelButton() {
  const hidden = !showsPanel.value;
  const full = hidden && context.value ? share(context.value.total, windowSize.value) : '';
  return (
    <button
      type="button"
      class="panel-button"
      aria-label={full ? `Context panel, ${full}` : 'Context panel'}
      aria-pressed={!hidden}
      title="Context (c)"
      onClick={togglePanel}
    >
      {full && <span>{full}</span>}
      <PanelRight size={16} aria-hidden="true" />
    </button>
  );
}
