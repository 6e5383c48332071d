import { useComputed } from '@preact/signals';
import type { ToolUseBlock } from '@x/core';
import { Archive, CircleAlert, EyeOff, Hand, LoaderCircle } from 'lucide-preact';
import { outputOf } from '../../../src/server/message-text.js';
import type { Fate } from '../../../src/server/transcript.js';
import { duration, exactCount, size } from '../lib/format.js';
import { firstArgument, toolIcon } from '../lib/tool-face.js';
import { answers } from '../state/blocks.js';
import { fileAddress } from '../state/route.js';
import { fates, pending, toolRuns } from '../state/session.js';
import { showCompaction } from '../state/show-message.js';
import { CodeBlock } from './code-block.js';
import { Fold } from './fold.js';

interface ToolCallProps {
  readonly call: ToolUseBlock;
  /** Whether the model no longer sees the message that made the call; its turn says so already. */
  readonly gone: boolean;
}

/** A tool call in one line; opened, what went in and what came out. */
export function ToolCall({ call, gone }: ToolCallProps) {
  const run = useComputed(() => toolRuns.value[call.id]).value;
  const answer = useComputed(() => answers.value.get(call.id)).value;
  const fate = useComputed(() => fates.value[answer?.messageId ?? '']).value;
  const waits = useComputed(() => pending.value.some(({ id }) => id === call.id)).value;
  const failed = answer?.result.isError ?? run?.status === 'failed';
  const output = answer ? outputOf(answer.result) : '';
  const chars = run?.evicted?.chars ?? output.length;

  const line = (
    <>
      <ToolMark call={call} running={!answer && run?.status === 'running'} failed={failed} />
      <span class="tool-name code">{call.name}</span>
      <span class="clip quiet code">{firstArgument(call.input)}</span>
      {!answer && run?.progress && <span class="clip quiet code">{run.progress}</span>}
      {waits && (
        <span class="tag accent">
          <Hand size={12} aria-hidden="true" /> waits for you
        </span>
      )}
      {run?.evicted && (
        <span class="tag" title="Too large for the window: the model got head, tail and the path of the file">
          <Archive size={12} aria-hidden="true" /> evicted
        </span>
      )}
      {fate && !gone && (
        <span class="tag tool-fate" title="The model no longer sees this output as it was">
          {fate.fate}
        </span>
      )}
      {answer && (
        <span class="figure" title={`${exactCount(chars)} characters`}>
          {size(chars)}
        </span>
      )}
      {run?.durationMs !== undefined && <span class="figure tool-time">{duration(run.durationMs)}</span>}
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
          {run?.evicted && (
            <a href={fileAddress(run.evicted.path)}>Open the whole result, {size(run.evicted.chars)}</a>
          )}
          {fate && <FateTag fate={fate} />}
        </div>
      )}
    </Fold>
  );
}

function ToolMark(props: {
  readonly call: ToolUseBlock;
  readonly running: boolean;
  readonly failed: boolean;
}) {
  const { call, running, failed } = props;
  if (running) return <LoaderCircle class="spin" size={16} aria-label="running" />;
  if (failed) return <CircleAlert class="quiet" size={16} aria-label="failed" />;
  const Icon = toolIcon(call.name);
  return <Icon class="quiet" size={16} aria-hidden="true" />;
}

/** Says that the model no longer sees this as it was; leads to the compaction that did it. */
export function FateTag({ fate }: { readonly fate: Fate }) {
  return (
    <button
      type="button"
      class="tag fate-tag"
      title={`The model no longer sees this as it was: ${fate.fate} by a compaction`}
      onClick={() => showCompaction(fate.compactionId)}
    >
      <EyeOff size={12} aria-hidden="true" />
      {fate.fate}
    </button>
  );
}
