import './plan-view.css';
import { busy, setPlanMode, work } from '../state/session.js';
import { Fold } from './fold.js';
import { Markdown } from './markdown.js';

/** Whether the agent may only read for now, and what it plans. */
export function PlanView() {
  const { active, path, text } = work.value.plan;
  return (
    <div class="plan">
      <button
        type="button"
        class="switch"
        role="switch"
        aria-checked={active}
        disabled={busy.value}
        onClick={() => void setPlanMode(!active)}
      >
        <span class="switch-track" aria-hidden="true" />
        {active ? 'Plan mode is on: the agent only reads' : 'Plan mode is off'}
      </button>
      {text !== undefined && (
        <Fold id="plan-text" line={<span class="plan-path">{path}</span>}>
          {() => (
            <div class="plan-text">
              <Markdown text={text} />
            </div>
          )}
        </Fold>
      )}
    </div>
  );
}
