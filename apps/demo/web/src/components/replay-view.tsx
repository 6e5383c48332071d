import { signal } from '@preact/signals';
import { FileUp, LoaderCircle } from 'lucide-preact';
import { size } from '../lib/format.js';
import { useLoaded } from '../lib/use-loaded.js';
import { api } from '../state/api.js';
import { ViewFrame } from './parts.js';

const fields = [
  ['window', 'Window, tokens', 'half of the log’s peak'],
  ['input', 'USD per million tokens in', '3'],
  ['output', 'USD per million tokens out', '15'],
] as const;
const settings = signal({ window: '', input: '', output: '' });
const file = signal<File | undefined>(undefined);
const replaying = signal(false);

/** What each strategy would have kept, sent and cost on a log of the user's own: the report of `x replay`. */
export function ReplayView() {
  const log = file.value;
  const replay = async (chosen: File) => {
    replaying.value = true;
    try {
      return await api.replay(chosen, settings.value);
    } finally {
      replaying.value = false;
    }
  };
  const { value: report, failure } = useLoaded(() => log && replay(log), [log, settings.value]);
  const Icon = replaying.value ? LoaderCircle : FileUp;
  const words = log ? `${log.name} · ${size(log.size)}` : 'Drop a log here';
  return (
    <ViewFrame
      title="Replay a log"
      lead="What each way of compacting keeps, sends and costs on a conversation that you already had. It reads logs of Claude Code, Codex and pi, messages of OpenAI, Anthropic and the AI SDK, and its own logs. The server counts the file and does not keep it. It calls no model."
      failure={failure}
    >
      {/* A file field as large as its frame: browsers let one drop a file on it. */}
      <label class="drop stack">
        <Icon class={replaying.value ? 'spin' : 'quiet'} size={24} aria-hidden="true" />
        <span role="status">{replaying.value ? `Replaying ${log?.name}` : words}</span>
        <small class="quiet small">{log ? 'Choose another file' : 'or choose a file: .jsonl or .json'}</small>
        <input
          type="file"
          accept=".jsonl,.json,.txt,.log"
          aria-label="Log file"
          onChange={({ currentTarget: { files } }) => (file.value = files?.[0] ?? log)}
        />
      </label>
      <div class="row wrap quiet">
        {fields.map(([key, label, usual]) => (
          <label key={key} class="stack small grow">
            {label}
            <input
              class="field"
              inputMode="decimal"
              placeholder={usual}
              defaultValue={settings.peek()[key]}
              aria-invalid={new RegExp(`\\b${key}\\b`).test(failure)}
              onChange={(event) => (settings.value = { ...settings.value, [key]: event.currentTarget.value })}
            />
          </label>
        ))}
      </div>
      {report && <iframe class="replay-report" title="Report" sandbox="" srcdoc={report} />}
    </ViewFrame>
  );
}
