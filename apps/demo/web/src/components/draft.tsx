import { useComputed } from '@preact/signals';
import { call, compacting } from '../state/session.js';
import { Markdown } from './markdown.js';
import { Thought } from './thought.js';

/** What the model is saying right now, in the very place where it will stand, and a line where its figures will. */
export function Draft() {
  const text = useComputed(() => call.value?.text ?? '').value;
  const thinking = useComputed(() => call.value?.thinking ?? '').value;
  return (
    <>
      {thinking && <Thought id="draft-thought" text={thinking} />}
      {text && <Markdown text={text} />}
      <footer class="agent-foot">
        <DraftStatus />
      </footer>
    </>
  );
}

function DraftStatus() {
  if (compacting.value) return <span>Compacting {compacting.value.messagesBefore} messages …</span>;
  const running = call.value;
  if (!running) return null;
  const { retry, step } = running;
  if (retry) {
    return (
      <span>
        Attempt {retry.attempt} failed: {retry.error} Trying again …
      </span>
    );
  }
  return <span>{step === 0 ? 'Starting …' : `Step ${step} …`}</span>;
}
