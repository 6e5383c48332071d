import './missing-state.css';
import { goToNew } from '../state/route.js';
import { openSession, problem, sessionId } from '../state/session.js';

/** Instead of a conversation that could not be loaded. */
export function MissingState() {
  const gone = problem.value?.code === 'session_not_found';
  return (
    <div class="conversation-scroll missing">
      <div class="missing-content">
        <h2>{gone ? 'There is no such conversation' : 'The conversation could not be loaded'}</h2>
        <p>{problem.value?.message}</p>
        <div class="missing-buttons">
          {!gone && (
            <button type="button" class="button" onClick={() => void openSession(sessionId.peek())}>
              Try again
            </button>
          )}
          <button type="button" class="button" onClick={goToNew}>
            New conversation
          </button>
        </div>
      </div>
    </div>
  );
}
