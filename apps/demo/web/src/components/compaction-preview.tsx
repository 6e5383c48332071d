import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { CompactionSettings, CompactionPreview as Preview } from '../../../src/server/backend.js';
import { firstLine, textOf } from '../../../src/server/message-text.js';
import { fatesInWords } from '../lib/compaction-words.js';
import { exactCount, plural, shortCount } from '../lib/format.js';
import { ApiError, api } from '../state/api.js';
import { messagesById } from '../state/blocks.js';
import { info } from '../state/info.js';
import { busy, sessionId, timeline } from '../state/session.js';
import { CompactionSteps } from './compaction.js';

type Key = keyof CompactionSettings;

/** The paths of errors, which name the compactor's own keys, by field. */
const fields: readonly {
  readonly key: Key;
  readonly path: string;
  readonly label: string;
  readonly note: string;
}[] = [
  {
    key: 'trigger',
    path: 'trigger.share',
    label: 'Due at',
    note: 'share of the window; 0.85 is 85 %, 0 never',
  },
  { key: 'target', path: 'target', label: 'Aim for', note: 'share of that, which a compaction leaves' },
  { key: 'keep', path: 'keep.share', label: 'Keep, newest', note: 'share of that, which stays as it is' },
  { key: 'users', path: 'keep.users', label: 'Keep, your words', note: 'share of the window' },
  { key: 'record', path: 'summary.record', label: 'Record', note: 'share for what was done and found' },
];

/** Settings to try, and what a compaction with them would do to this conversation now. Nothing is changed. */
export function CompactionPreview() {
  const configured = info.value?.compaction;
  const tried = useSignal<Partial<Record<Key, string>>>({});
  const force = useSignal(true);
  const preview = useSignal<Preview | undefined>(undefined);
  const issues = useSignal<readonly { readonly path: string; readonly message: string }[]>([]);
  const failure = useSignal('');
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const turn = useRef(0);

  const ask = async () => {
    const mine = ++turn.current;
    try {
      const answer = await api.preview(sessionId.peek(), settingsOf(configured, tried.peek()), force.peek());
      if (mine !== turn.current) return;
      preview.value = answer;
      issues.value = [];
      failure.value = '';
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (mine !== turn.current) return;
      issues.value = error.issues.map(({ path, message }) => ({
        path: path.replace(/^settings\./, ''),
        message,
      }));
      failure.value = error.issues.length > 0 ? '' : error.message;
    }
  };
  const session = sessionId.value;
  const steps = timeline.value.length;
  const idle = !busy.value;
  useEffect(() => {
    if (idle && configured) void ask();
  }, [session, steps, idle, configured]);
  const soon = () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void ask(), 200);
  };
  if (!configured) return null;
  const known = new Set(fields.map(({ path }) => path));
  const elsewhere = issues.value.filter(({ path }) => !known.has(path));

  return (
    <div class="preview">
      <form class="setting-fields" onSubmit={(event) => event.preventDefault()}>
        {fields.map(({ key, path, label, note }) => {
          const wrong = issues.value.filter((issue) => issue.path === path);
          return (
            <label key={key}>
              {label}
              <input
                class="field"
                inputMode="decimal"
                value={tried.value[key] ?? String(configured[key])}
                aria-invalid={wrong.length > 0}
                aria-describedby={`preview-${key}`}
                onInput={(event) => {
                  tried.value = { ...tried.peek(), [key]: event.currentTarget.value };
                  soon();
                }}
              />
              <span id={`preview-${key}`} class={wrong.length > 0 ? 'failure label' : 'quiet label'}>
                {wrong.length > 0 ? wrong.map(({ message }) => message).join('; ') : note}
              </span>
            </label>
          );
        })}
      </form>
      <div class="row wrap">
        <label class="row small grow">
          <input
            type="checkbox"
            checked={force.value}
            onChange={(event) => {
              force.value = event.currentTarget.checked;
              soon();
            }}
          />
          Also when none is due
        </label>
        <button
          type="button"
          class="button"
          disabled={Object.keys(tried.value).length === 0}
          onClick={() => {
            tried.value = {};
            soon();
          }}
        >
          As configured
        </button>
      </div>
      {[...elsewhere.map(({ path, message }) => `${path} ${message}`), failure.value]
        .filter(Boolean)
        .map((text) => (
          <p key={text} class="failure small" role="alert">
            {text}
          </p>
        ))}
      {preview.value && <Outcome preview={preview.value} stale={issues.value.length > 0} />}
    </div>
  );
}

function Outcome({ preview, stale }: { readonly preview: Preview; readonly stale: boolean }) {
  const { status, reason, tokensBefore, tokensAfter, messagesBefore, messagesAfter, steps, manifest } =
    preview;
  const gone = useComputed(() =>
    manifest.map(({ messageId, fate }) => {
      const message = messagesById.value.get(messageId);
      return {
        messageId,
        fate,
        text: message ? firstLine(textOf(message), 100) : 'The summary of an earlier compaction',
      };
    }),
  ).value;
  const applied = status === 'applied';
  return (
    <section class="preview-outcome card small" aria-label="What would happen" data-stale={stale}>
      <p role="status">
        <strong>
          {applied
            ? `${shortCount(tokensBefore)} → ${shortCount(tokensAfter)} tokens, ${exactCount(messagesBefore)} → ${plural(messagesAfter, 'message')}`
            : `Nothing would change: ${status}`}
        </strong>
        <span class="quiet" title={`${exactCount(tokensBefore)} tokens now`}>
          {reason}
        </span>
      </p>
      {steps.length > 0 && <CompactionSteps steps={steps} />}
      {applied && gone.length > 0 && (
        <>
          <h3 class="heading">What the model would no longer see as it is: {fatesInWords(manifest)}</h3>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with keys. */}
          <ul class="preview-gone" tabIndex={0}>
            {gone.map(({ messageId, fate, text }) => (
              <li key={messageId} class="row">
                <span class="clip">{text}</span>
                <span class="quiet">{fate}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** Numbers where there are numbers; what is none is sent as it is, for the compactor to refuse. */
function settingsOf(configured: CompactionSettings | undefined, tried: Partial<Record<Key, string>>): object {
  const numbers = Object.entries(tried).map(([key, text]) => {
    const number = Number(text);
    return [key, text.trim() === '' || Number.isNaN(number) ? text : number];
  });
  return { ...configured, ...Object.fromEntries(numbers) };
}
