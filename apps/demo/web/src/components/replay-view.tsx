import './replay-view.css';
import { useSignal } from '@preact/signals';
import { FileUp, LoaderCircle } from 'lucide-preact';
import { useEffect, useRef } from 'preact/hooks';
import { RequestLines } from '../charts/request-lines.js';
import { exactCount, plural, share, shortCount, size } from '../lib/format.js';
import {
  type ReplaySettings,
  replay,
  replayed,
  replayFailure,
  replayFile,
  replaying,
  replaySettings,
} from '../state/replay.js';
import { ViewFrame } from './view-frame.js';

/** What each strategy would have kept, sent and cost on a log of the user's own. */
export function ReplayView() {
  return (
    <ViewFrame
      title="Replay a log"
      lead="What each way of compacting would have kept, sent and cost on a conversation that you already had. Reads logs of Claude Code, Codex and pi, messages of OpenAI, Anthropic and the AI SDK, and its own. The file goes to this server, is counted, and is not kept; no model is called."
    >
      <DropZone />
      <Settings />
      {replayFailure.value && (
        <p class="view-failure" role="alert">
          {replayFailure.value.message}
        </p>
      )}
      {replayed.value && <Results />}
    </ViewFrame>
  );
}

function DropZone() {
  const over = useSignal(false);
  const file = replayFile.value;
  const take = (chosen: File | undefined) => {
    if (!chosen) return;
    replayFile.value = chosen;
    void replay();
  };
  return (
    <label
      class="drop"
      data-over={over.value}
      onDragOver={(event) => {
        event.preventDefault();
        over.value = true;
      }}
      onDragLeave={() => {
        over.value = false;
      }}
      onDrop={(event) => {
        event.preventDefault();
        over.value = false;
        take(event.dataTransfer?.files[0]);
      }}
    >
      {replaying.value ? (
        <LoaderCircle class="spin" size={24} aria-hidden="true" />
      ) : (
        <FileUp size={24} aria-hidden="true" />
      )}
      <span role="status">
        {replaying.value
          ? `Replaying ${file?.name}`
          : file
            ? `${file.name} · ${size(file.size)}`
            : 'Drop a log here'}
      </span>
      <small>{file ? 'Choose another file' : 'or choose a file: .jsonl or .json'}</small>
      <input
        class="visually-hidden"
        type="file"
        accept=".jsonl,.json,.txt,.log"
        aria-label="Log file"
        onChange={(event) => take(event.currentTarget.files?.[0])}
      />
    </label>
  );
}

const fields: readonly (readonly [keyof ReplaySettings, string])[] = [
  ['window', 'Window, tokens'],
  ['input', 'Price of a million tokens in'],
  ['output', 'Price of a million tokens out'],
];

function Settings() {
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <div class="replay-settings">
      {fields.map(([key, label]) => (
        <label key={key}>
          {label}
          <input
            class="field"
            inputMode="decimal"
            value={replaySettings.value[key]}
            aria-invalid={replayFailure.value?.fields.includes(key) ?? false}
            onInput={(event) => {
              replaySettings.value = { ...replaySettings.peek(), [key]: event.currentTarget.value };
              clearTimeout(timer.current);
              timer.current = setTimeout(() => void replay(), 300);
            }}
          />
        </label>
      ))}
    </div>
  );
}

function Results() {
  const answer = replayed.value;
  const conversation = answer?.report.conversations[0];
  if (!answer || !conversation) return null;
  const unread = Object.values(conversation.unread).reduce((sum, count) => sum + count, 0);
  const mostCost = Math.max(...conversation.figures.map(({ cost }) => cost), Number.MIN_VALUE);
  return (
    <>
      <p class="view-note">
        {conversation.format} · {plural(conversation.messages, 'message')}
        {conversation.model ? ` · ${conversation.model}` : ''}
        {unread > 0 ? ` · ${plural(unread, 'line')} could not be read` : ''}
        {` · counted by ${answer.report.counter}`}
      </p>
      <section aria-label="Strategies">
        <h2>What each would have kept and cost</h2>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with keys. */}
        <div class="replay-table" tabIndex={0}>
          <table class="table">
            <thead>
              <tr>
                <th scope="col">Strategy</th>
                <th scope="col">Names kept</th>
                <th scope="col">Reductions</th>
                <th scope="col">Largest request</th>
                <th scope="col">Too large</th>
                <th scope="col">Sent</th>
                <th scope="col">From cache</th>
                <th scope="col">Cost</th>
                <th scope="col">
                  <span class="visually-hidden">Share of the dearest</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {conversation.figures.map((row) => (
                <tr key={row.strategy}>
                  <th scope="row">{row.strategy}</th>
                  <td>
                    {row.references === 0
                      ? '–'
                      : `${share(row.retained, row.references)} of ${row.references}`}
                  </td>
                  <td>{exactCount(row.reductions)}</td>
                  <td title={exactCount(row.largestRequest)}>{shortCount(row.largestRequest)}</td>
                  <td data-bad={row.overflows > 0}>{exactCount(row.overflows)}</td>
                  <td title={exactCount(row.sent)}>{shortCount(row.sent)}</td>
                  <td>{share(row.cached, row.sent)}</td>
                  <td>{row.cost.toFixed(row.cost < 1 ? 4 : 2)}</td>
                  <td class="replay-bar">
                    <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                      <rect width={(row.cost / mostCost) * 100} height="8" />
                    </svg>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <p class="view-note">
          Names kept: paths and identifiers that a later call used and that the strategy still had in view.
          Too large: requests that a provider would have refused.
        </p>
      </section>
      <section aria-label="Requests">
        <h2>Tokens of every request</h2>
        <RequestLines requests={answer.requests} window={answer.report.window} />
      </section>
    </>
  );
}
