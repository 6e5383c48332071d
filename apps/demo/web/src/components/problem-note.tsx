import './problem-note.css';
import { CircleAlert, X } from 'lucide-preact';
import { phase, problem } from '../state/session.js';

/** Why something that was just asked for did not happen; what was written stays in the composer. */
export function ProblemNote() {
  if (!problem.value || phase.value === 'failed') return null;
  return (
    <div class="problem" role="alert">
      <CircleAlert size={16} aria-hidden="true" />
      <p>{problem.value.message}</p>
      <button
        type="button"
        class="icon-button"
        aria-label="Dismiss"
        onClick={() => {
          problem.value = undefined;
        }}
      >
        <X size={16} />
      </button>
    </div>
  );
}
