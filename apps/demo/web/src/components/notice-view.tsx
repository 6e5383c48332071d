import './notice-view.css';
import { useComputed } from '@preact/signals';
import { CircleAlert, Info, TriangleAlert } from 'lucide-preact';
import type { Entry, Notice } from '../../../src/server/transcript.js';
import { draftText } from '../state/draft-text.js';
import { lastQuestion } from '../state/last-question.js';
import { entries } from '../state/session.js';

const icons = { error: CircleAlert, warning: TriangleAlert, info: Info };

/** Something that happened beside the messages: an error says what happened, what is safe, and what to do. */
export function NoticeView({ notice }: { readonly notice: Notice }) {
  const Icon = icons[notice.level];
  const failed = notice.level === 'error';
  const latest = useComputed(() => isNotice(entries.value.at(-1), notice)).value;
  return (
    <aside
      class={`block notice notice-${notice.level}`}
      data-turn={failed ? '' : undefined}
      tabIndex={failed ? -1 : undefined}
      role={failed ? 'alert' : undefined}
    >
      <Icon size={16} aria-hidden="true" class="notice-icon" />
      <div class="notice-words">
        {failed && <strong>The call failed</strong>}
        <p>{notice.message}</p>
        {failed && (
          <p class="notice-safe">
            Nothing is lost: the conversation up to here is stored. <code>{notice.code}</code>
          </p>
        )}
        {failed && latest && lastQuestion.value && (
          <button
            type="button"
            class="button"
            onClick={() => {
              draftText.value = lastQuestion.value;
              document.querySelector<HTMLElement>('.composer textarea')?.focus();
            }}
          >
            Edit and send again
          </button>
        )}
      </div>
    </aside>
  );
}

function isNotice(entry: Entry | undefined, notice: Notice): boolean {
  return entry?.type === 'notice' && entry.notice === notice;
}
