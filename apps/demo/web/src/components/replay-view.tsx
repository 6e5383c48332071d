import './replay-view.css';
import { signal, useSignal } from '@preact/signals';
import { FileUp, LoaderCircle } from 'lucide-preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ReplayAnswer } from '../../../src/server/backend.js';
import { Track } from '../charts/track.js';
import { exactCount, plural, share, shortCount, size } from '../lib/format.js';
import { ApiError, api } from '../state/api.js';
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
        <p class="failure small" role="alert">
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
      class="drop stack"
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
        <FileUp class="quiet" size={24} aria-hidden="true" />
      )}
      <span role="status">
        {replaying.value
          ? `Replaying ${file?.name}`
          : file
            ? `${file.name} · ${size(file.size)}`
            : 'Drop a log here'}
      </span>
      <small class="quiet small">{file ? 'Choose another file' : 'or choose a file: .jsonl or .json'}</small>
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
    <div class="setting-fields quiet">
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
      <p class="quiet small">
        {conversation.format} · {plural(conversation.messages, 'message')}
        {conversation.model ? ` · ${conversation.model}` : ''}
        {unread > 0 ? ` · ${plural(unread, 'line')} could not be read` : ''}
        {` · counted by ${answer.report.counter}`}
      </p>
      <section aria-label="Strategies">
        <h2>What each would have kept and cost</h2>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with keys. */}
        <div class="table-scroll" tabIndex={0}>
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
                  <td class="bar">
                    <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                      <rect width={(row.cost / mostCost) * 100} height="8" />
                    </svg>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <p class="quiet small">
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

interface ReplaySettings {
  readonly window: string;
  readonly input: string;
  readonly output: string;
}

const replaySettings = signal<ReplaySettings>({ window: '128000', input: '3', output: '15' });
const replayFile = signal<File | undefined>(undefined);
const replayed = signal<ReplayAnswer | undefined>(undefined);
export const replaying = signal(false);
const replayFailure = signal<{ readonly message: string; readonly fields: readonly string[] } | undefined>(
  undefined,
);

let turn = 0;

/** Replays the chosen file with the settings as they are. */
export async function replay(): Promise<void> {
  const file = replayFile.peek();
  if (!file) return;
  const mine = ++turn;
  replaying.value = true;
  try {
    const answer = await api.replay(file, { ...replaySettings.peek() });
    if (mine !== turn) return;
    replayed.value = answer;
    replayFailure.value = undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (mine !== turn) return;
    replayFailure.value = { message: error.message, fields: error.issues.map(({ path }) => path) };
  } finally {
    if (mine === turn) replaying.value = false;
  }
}

const LINES = { width: 1_000, height: 260 };
const looks = [
  { className: 'source-system', dash: '2 4' },
  { className: 'source-conversation', dash: '' },
  { className: 'source-summary', dash: '8 4' },
  { className: 'source-results', dash: '12 4 2 4' },
];

interface RequestLinesProps {
  readonly requests: ReplayAnswer['requests'];
  readonly window: number;
}

/** Tokens of every request, a line a strategy; the window as a dashed line. */
function RequestLines({ requests, window }: RequestLinesProps) {
  const looked = useSignal<number | undefined>(undefined);
  const count = Math.max(1, ...requests.map(({ tokens }) => tokens.length));
  const top = requests.reduce((most, { tokens }) => Math.max(most, ...tokens), window) * 1.05;
  const pitch = LINES.width / count;
  const y = (tokens: number) => LINES.height * (1 - tokens / top);
  const at = Math.min(looked.value ?? count - 1, count - 1);
  const words = requests
    .map(({ strategy, tokens }) => `${strategy} ${exactCount(tokens[at] ?? 0)}`)
    .join(', ');
  const look = (index: number | undefined) => {
    looked.value = index;
  };
  return (
    <>
      <Track
        label="Tokens of every request, by strategy"
        valueText={`Request ${at + 1}: ${words}`}
        {...{ ...LINES, count, pitch, at }}
        onPoint={look}
        onPick={look}
      >
        <line class="timeline-trigger" x2={LINES.width} y1={y(window)} y2={y(window)} />
        {requests.map(({ strategy, tokens }, index) => (
          <polyline
            key={strategy}
            class={`replay-line ${looks[index % looks.length]?.className}`}
            stroke-dasharray={looks[index % looks.length]?.dash}
            points={tokens.map((value, step) => `${(step + 0.5) * pitch},${y(value)}`).join(' ')}
          />
        ))}
        <rect class="timeline-hit" x={at * pitch} width={Math.max(1, pitch)} height={LINES.height} />
      </Track>
      <ul class="chart-legend row wrap small">
        {requests.map(({ strategy, tokens }, index) => (
          <li key={strategy} class="row">
            <svg width="24" height="4" class={looks[index % looks.length]?.className} aria-hidden="true">
              <line
                class="replay-line"
                x2="24"
                y1="2"
                y2="2"
                stroke-dasharray={looks[index % looks.length]?.dash}
              />
            </svg>
            {strategy}: {exactCount(tokens[at] ?? 0)}
          </li>
        ))}
        <li>
          request {at + 1}, window {exactCount(window)}
        </li>
      </ul>
    </>
  );
}
