import { useComputed } from '@preact/signals';
import type { ToolUseBlock } from '@x/core';
import { Archive, CircleAlert, EyeOff, Hand, LoaderCircle } from 'lucide-preact';
import { outputOf } from '../../../src/page.js';
import { duration, exactCount, size } from '../lib/format.js';
import { firstArgument, toolIcon } from '../lib/words.js';
import { answers } from '../state/blocks.js';
import { fates, pending, toolRuns } from '../state/session.js';
import { showCompaction } from '../state/show-message.js';
import type { Fate } from '../state/transcript.js';
import { fileAddress } from '../state/view.js';
import { CodeBlock, Fold } from './parts.js';

interface ToolCallProps {
  readonly call: ToolUseBlock;
  /** True when the model no longer sees the message that made the call; its turn says so. */
  readonly gone: boolean;
}

/** A tool call in one line. It opens to its input and output. */
export function ToolCall({ call, gone }: ToolCallProps) {
  const run = useComputed(() => toolRuns.value[call.id]).value;
  const answer = useComputed(() => answers.value.get(call.id)).value;
  const fate = useComputed(() => fates.value[answer?.messageId ?? '']).value;
  const waits = useComputed(() => pending.value.some(({ id }) => id === call.id)).value;
  const running = !answer && run?.status === 'running';
  const failed = answer?.result.isError ?? run?.status === 'failed';
  const output = answer ? outputOf(answer.result) : '';
  const { evicted, progress, durationMs } = run ?? {};
  const chars = evicted?.chars ?? output.length;
  const Icon = running ? LoaderCircle : failed ? CircleAlert : toolIcon(call.name);
  const label = running ? 'running' : failed ? 'failed' : undefined;
  const line = (
    <>
      <Icon class={running ? 'spin' : 'quiet'} size={16} aria-label={label} aria-hidden={!label} />
      <span class="tool-name code">{call.name}</span>
      <span class="clip quiet code">{firstArgument(call.input)}</span>
      {running && progress && <span class="clip quiet code">{progress}</span>}
      {waits && (
        <span class="tag accent">
          <Hand size={12} aria-hidden="true" /> waits for you
        </span>
      )}
      {evicted && (
        <span
          class="tag"
          title="Too large for the window: the model got its head, its tail and the path of the file"
        >
          <Archive size={12} aria-hidden="true" /> evicted
        </span>
      )}
      {fate && !gone && (
        <span class="tag wide-only" title="The model no longer sees this output as it was">
          {fate.fate}
        </span>
      )}
      {answer && (
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
          <CodeBlock label="Input" text={JSON.stringify(call.input, null, 2)} />
          {answer && (
            <CodeBlock label={failed ? 'Error' : 'Output'} text={output} figure={size(output.length)} />
          )}
          {evicted && <a href={fileAddress(evicted.path)}>Open the whole result, {size(evicted.chars)}</a>}
          {fate && <FateTag fate={fate} />}
        </div>
      )}
    </Fold>
  );
}

/** Marks what the model no longer sees as it was. Leads to the compaction that did it. */
export function FateTag({ fate: { fate, compactionId } }: { readonly fate: Fate }) {
  return (
    <button
      type="button"
      class="tag fate-tag"
      title={`The model no longer sees this as it was: ${fate} by a compaction`}
      onClick={() => showCompaction(compactionId)}
    >
      <EyeOff size={12} aria-hidden="true" />
      {fate}
    </button>
  );
}
