import './empty-state.css';
import {
  ArrowRight,
  FilePen,
  FolderSearch,
  MessageCircleQuestionMark,
  Rewind,
  Search,
  Shrink,
} from 'lucide-preact';
import { info, modelLine } from '../state/info.js';
import { say } from '../state/say.js';
import { busy } from '../state/session.js';

const icons = {
  survey: FolderSearch,
  ask: MessageCircleQuestionMark,
  find: Search,
  compact: Shrink,
  write: FilePen,
};

/** What there is to do before anything was said, and who will answer. */
export function EmptyState() {
  const backend = info.value;
  return (
    <div class="conversation-scroll empty">
      <div class="empty-content">
        <h2>See what the model sees</h2>
        <p class="empty-lead">
          What fills its window, what was removed to make room, and what that cost: on the side, while you
          talk.
        </p>
        <ul class="empty-starters">
          {backend?.starters.map((starter) => {
            const Icon = icons[starter.icon];
            return (
              <li key={starter.title}>
                <button type="button" disabled={busy.value} onClick={() => void say(starter.prompt)}>
                  <Icon size={16} aria-hidden="true" />
                  <span>
                    <strong>{starter.title}</strong>
                    <span>{starter.description}</span>
                  </span>
                  <ArrowRight size={16} aria-hidden="true" class="empty-arrow" />
                </button>
              </li>
            );
          })}
          <li>
            <a href="#/replay">
              <Rewind size={16} aria-hidden="true" />
              <span>
                <strong>Replay a log of your own</strong>
                <span>What each way of compacting would have kept, sent and cost</span>
              </span>
              <ArrowRight size={16} aria-hidden="true" class="empty-arrow" />
            </a>
          </li>
        </ul>
        {backend ? (
          <p class="empty-model">
            Answered by {modelLine.value}
            <br />
            Works in <code>{backend.workspace}</code>
          </p>
        ) : (
          <p class="empty-model">Waiting for the server …</p>
        )}
      </div>
    </div>
  );
}
