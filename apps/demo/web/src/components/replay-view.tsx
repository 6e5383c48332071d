import './replay-view.css';
import { signal } from '@preact/signals';
import { FileUp, LoaderCircle } from 'lucide-preact';
import { useEffect, useRef } from 'preact/hooks';
import { size } from '../lib/format.js';
import { ApiError, api } from '../state/api.js';
import { ViewFrame } from './view-frame.js';

/** What each strategy would have kept, sent and cost on a log of the user's own: the report of `x replay`. */
export function ReplayView() {
  return (
    <ViewFrame
      title="Replay a log"
      lead="What each way of compacting would have kept, sent and cost on a conversation that you already had. Reads logs of Claude Code, Codex and pi, messages of OpenAI, Anthropic and the AI SDK, and its own. The file goes to this server, is counted, and is not kept; no model is called."
    >
      <DropZone />
      <Settings />
      {failure.value && (
        <p class="failure small" role="alert">
          {failure.value.message}
        </p>
      )}
      {report.value && <iframe class="replay-report" title="Report" sandbox="" srcdoc={report.value} />}
    </ViewFrame>
  );
}

/** A file field as large as its frame: browsers let one drop a file on it. */
function DropZone() {
  const log = file.value;
  const Icon = replaying.value ? LoaderCircle : FileUp;
  const asked = log ? `${log.name} · ${size(log.size)}` : 'Drop a log here';
  return (
    <label class="drop stack">
      <Icon class={replaying.value ? 'spin' : 'quiet'} size={24} aria-hidden="true" />
      <span role="status">{replaying.value ? `Replaying ${log?.name}` : asked}</span>
      <small class="quiet small">{log ? 'Choose another file' : 'or choose a file: .jsonl or .json'}</small>
      <input
        type="file"
        accept=".jsonl,.json,.txt,.log"
        aria-label="Log file"
        onChange={({ currentTarget: { files } }) => {
          file.value = files?.[0] ?? log;
          void replay();
        }}
      />
    </label>
  );
}

const fields = [
  ['window', 'Window, tokens'],
  ['input', 'Price of a million tokens in'],
  ['output', 'Price of a million tokens out'],
] as const;

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
            value={settings.value[key]}
            aria-invalid={failure.value?.fields.includes(key) ?? false}
            onInput={(event) => {
              settings.value = { ...settings.peek(), [key]: event.currentTarget.value };
              clearTimeout(timer.current);
              timer.current = setTimeout(() => void replay(), 300);
            }}
          />
        </label>
      ))}
    </div>
  );
}

const settings = signal({ window: '128000', input: '3', output: '15' });
const file = signal<File | undefined>(undefined);
const report = signal('');
const replaying = signal(false);
const failure = signal<{ readonly message: string; readonly fields: readonly string[] } | undefined>(
  undefined,
);

let turn = 0;

/** Replays the chosen file with the settings as they are. */
async function replay(): Promise<void> {
  const log = file.peek();
  if (!log) return;
  const mine = ++turn;
  replaying.value = true;
  try {
    const answer = await api.replay(log, settings.peek());
    if (mine !== turn) return;
    report.value = answer;
    failure.value = undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (mine !== turn) return;
    failure.value = { message: error.message, fields: error.issues.map(({ path }) => path) };
  } finally {
    if (mine === turn) replaying.value = false;
  }
}
