import { useComputed, useSignal } from '@preact/signals';
import type { ToolResultBlock, ToolUseBlock } from '@x/core';
import { type CallKind, renderCall, renderResult } from '@x/harness/view';
import {
  CircleAlert,
  EyeOff,
  FileText,
  Hand,
  LoaderCircle,
  type LucideIcon,
  Pencil,
  Search,
  Terminal,
  Wrench,
} from 'lucide-preact';
import { duration, exactCount, size } from '../lib/format.js';
import { fates, pending, progress, call as runningCall, transcript } from '../state/session.js';
import { showCompaction } from '../state/show-message.js';
import type { Fate } from '../state/transcript.js';
import { fileAddress } from '../state/view.js';
import { Button, CallLines, CodeBlock, Fold, textOfLines } from './parts.js';

const icons: Readonly<Partial<Record<CallKind, LucideIcon>>> = {
  read: FileText,
  search: Search,
  edit: Pencil,
  execute: Terminal,
};

interface ToolCallProps {
  readonly call: ToolUseBlock;
  /** Whether the model no longer sees the message that made the call. The turn shows this already. */
  readonly gone: boolean;
}

/** A tool call in one line. It expands to its details, and to the first and last lines of its result. */
export function ToolCall({ call, gone }: ToolCallProps) {
  const {
    result,
    messageId = '',
    evicted,
    durationMs,
    unmade,
  } = useComputed(() => transcript.value.toolRuns.get(call.id)).value ?? {};
  const fate = useComputed(() => fates.value.get(messageId)).value;
  const waits = useComputed(() => pending.value.some(({ id }) => id === call.id)).value;
  const said = useComputed(() => progress.value.get(call.id)).value;
  const isLive = useComputed(() => runningCall.value !== undefined).value;
  const rendered = renderCall(call);
  const running = !result && isLive && !waits;
  const failed = !unmade && (result ? result.isError : !isLive && !waits);
  const chars =
    evicted?.chars ??
    result?.output.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0);
  const usual = unmade ? Hand : (icons[rendered.kind] ?? Wrench);
  const Icon = running ? LoaderCircle : failed ? CircleAlert : usual;
  const label = running ? 'running' : failed ? 'failed' : undefined;
  const line = (
    <>
      <Icon class={running ? 'spin' : 'quiet'} size={16} aria-label={label} aria-hidden={!label} />
      <span class="tool-name code">{call.name}</span>
      <span class="clip quiet code">{rendered.title.slice(call.name.length + 1)}</span>
      {running && said && <span class="clip quiet code">{said}</span>}
      {waits && (
        <span class="tag accent">
          <Hand size={12} aria-hidden="true" /> waits for you
        </span>
      )}
      {unmade && <span class="tag">{unmade}</span>}
      {evicted && <span class="tag wide-only">in a file</span>}
      {fate && !gone && <span class="tag wide-only">{fate.word}</span>}
      {result && chars !== undefined && (
        <span class="figure" title={`${exactCount(chars)} characters`}>
          {size(chars)}
        </span>
      )}
      {durationMs !== undefined && <span class="figure tool-time wide-only">{duration(durationMs)}</span>}
    </>
  );
  return (
    <Fold id={call.id} class={`tool-call${failed ? ' tool-failed' : ''}`} line={line}>
      {() => (
        <div class="tool-inside stack">
          <CallLines label="Input" call={rendered} />
          {result && (
            <Result result={result} label={failed ? 'Error' : unmade ? 'The model reads' : 'Output'} />
          )}
          {evicted && <a href={fileAddress(evicted.path)}>Open the whole result, {size(evicted.chars)}</a>}
          {fate && <FateTag fate={fate} />}
        </div>
      )}
    </Fold>
  );
}

function Result({ result, label }: { readonly label: string; readonly result: ToolResultBlock }) {
  const all = useSignal(false);
  const whole = textOfLines(renderResult(result, { head: Number.POSITIVE_INFINITY }));
  const lines = all.value ? undefined : renderResult(result);
  const isCut = lines?.some(({ mark }) => mark === '…');
  return (
    <>
      <CodeBlock label={label} text={whole} lines={lines} figure={size(whole.length)} />
      {isCut && <Button onClick={() => (all.value = true)}>Show all of it</Button>}
    </>
  );
}

/** Marks a message that the model no longer sees unchanged. Links to the compaction. */
export function FateTag({ fate: { word, compactionId } }: { readonly fate: Fate }) {
  return (
    <button
      type="button"
      class="tag fate-tag"
      title={`The model no longer sees the original: it was ${word} by a compaction`}
      onClick={() => showCompaction(compactionId)}
    >
      <EyeOff size={12} aria-hidden="true" />
      {word}
    </button>
  );
}
