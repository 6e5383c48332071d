import { useComputed } from '@preact/signals';
import { call, compacting } from '../state/session.js';
import { Markdown } from './markdown.js';
import { Thought } from './thought.js';

/** What the model is saying right now, in the very place where it will stand. */
export function Draft() {
  const text = useComputed(() => call.value?.text ?? '').value;
  const thinking = useComputed(() => call.value?.thinking ?? '').value;
  const running = useComputed(() => call.value !== undefined).value;
  if (!running && !compacting.value) return null;
  return (
    <div class="block agent-turn" aria-busy="true">
      {thinking && <Thought id="draft-thought" text={thinking} />}
      {text && <Markdown text={text} />}
      <div class="agent-foot">
        <DraftStatus />
      </div>
    </div>
  );
}

function DraftStatus() {
  if (compacting.value) {
    return <span>Compacting {compacting.value.messagesBefore} messages …</span>;
  }
  const running = call.value;
  if (!running) return null;
  if (running.retry)
    return (
      <span class="draft-retry">
        Attempt {running.retry.attempt} failed: {running.retry.error} Trying again …
      </span>
    );
  if (running.step === 0) return <span>Starting …</span>;
  return <span>Step {running.step} …</span>;
}
