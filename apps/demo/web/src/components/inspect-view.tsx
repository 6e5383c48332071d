import './inspect-view.css';
import { WindowArea } from '../charts/window-area.js';
import { WindowTreemap } from '../charts/window-treemap.js';
import { sources } from '../lib/sources.js';
import { hoveredSource } from '../state/hovered-source.js';
import { phase, timeline, title } from '../state/session.js';
import { CompactionPreview } from './compaction-preview.js';
import { StepCosts } from './step-costs.js';
import { ViewFrame } from './view-frame.js';

/** Behind the conversation: the window over time and as it is, what every call cost, and what other settings would do. */
export function InspectView() {
  return (
    <ViewFrame
      title="Inspector"
      lead={`What filled the window of “${title.value || 'this conversation'}”, what fills it now, what each model call took, and what a compaction with other settings would do.`}
    >
      {phase.value === 'failed' && <p class="view-failure">The conversation could not be loaded.</p>}
      {phase.value === 'ready' && timeline.value.length > 0 && (
        <>
          <section aria-label="The window over the session">
            <h2>The window over the session</h2>
            <WindowArea />
            <Sources />
          </section>
          <section aria-label="What the model sees now">
            <h2>What the model sees now</h2>
            <WindowTreemap />
          </section>
          <section aria-label="What every call took">
            <h2>What every call took</h2>
            <StepCosts />
          </section>
          <section aria-label="Try other settings">
            <h2>Try other settings</h2>
            <CompactionPreview />
          </section>
        </>
      )}
      {phase.value === 'ready' && timeline.value.length === 0 && (
        <p class="view-note">
          No call of a model has been recorded here yet: what fills the window shows with the next one.
        </p>
      )}
    </ViewFrame>
  );
}

function Sources() {
  return (
    <ul class="chart-legend">
      {sources.map(({ key, name, className }) => (
        <li key={key} data-lit={hoveredSource.value === key}>
          <span class={`swatch ${className}`} aria-hidden="true" /> {name}
        </li>
      ))}
      <li>
        <svg class="inspect-mark" width="8" height="8" aria-hidden="true">
          <circle cx="4" cy="4" r="4" />
        </svg>
        Compaction, from here
      </li>
    </ul>
  );
}
