import './notice-view.css';
import { useComputed } from '@preact/signals';
import { CircleAlert, Info, TriangleAlert } from 'lucide-preact';
import type { Entry, Notice } from '../../../src/server/transcript.js';
import { draftText } from '../state/draft-text.js';
import { info } from '../state/info.js';
import { lastQuestion } from '../state/last-question.js';
import { busy, decide, entries } from '../state/session.js';

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
        {notice.calls && latest && info.value?.abilities.decide && <Decision notice={notice} />}
      </div>
    </aside>
  );
}

function isNotice(entry: Entry | undefined, notice: Notice): boolean {
  return entry?.type === 'notice' && entry.notice === notice;
}

function Decision({ notice }: { readonly notice: Notice }) {
  const calls = notice.calls ?? [];
  const answer = (allow: boolean) =>
    void decide(
      calls.map((call) => call.id),
      allow,
    );
  return (
    <>
      <p>
        It wants to run <code>{calls.map((call) => call.name).join(', ')}</code>.
      </p>
      <div class="notice-buttons">
        <button type="button" class="button" disabled={busy.value} onClick={() => answer(true)}>
          Allow
        </button>
        <button type="button" class="button" disabled={busy.value} onClick={() => answer(false)}>
          Refuse
        </button>
      </div>
    </>
  );
}
