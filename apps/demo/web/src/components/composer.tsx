import { ArrowDown, ArrowUp, Square } from 'lucide-preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { shortCount } from '../lib/format.js';
import { say, usage } from '../state/commands.js';
import {
  call,
  compacting,
  draftText,
  info,
  modelLine,
  pending,
  phase,
  sending,
  stop,
} from '../state/session.js';
import { followEnd, following, isTouch } from '../state/view.js';
import { Button } from './parts.js';

/** Returns the placeholder: what sending a text would do now. */
function hint(): string {
  if (phase.value === 'failed') return 'No conversation is open';
  if (pending.value.length > 0) return 'Deny it, and say why';
  if (call.value) return 'Add a message: the agent reads it at its next step';
  return `Write a message, or ${usage}`;
}

/** The input for messages to the agent and commands. */
export function Composer() {
  // Long because most of it is the markup of the form.
  const field = useRef<HTMLTextAreaElement>(null);
  const text = draftText.value;
  const running = call.value !== undefined || compacting.value !== undefined;
  const gone = phase.value === 'failed';

  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
  }, [text]);

  const submit = async () => {
    if (!text.trim() || sending.peek() || gone) return;
    // The button is disabled without a text, and would lose the focus.
    field.current?.focus();
    draftText.value = '';
    followEnd();
    const accepted = await say(text);
    if (!accepted && draftText.peek() === '') draftText.value = text;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key, isComposing, shiftKey } = event;
    if (isComposing) return;
    if (key === 'Escape') return field.current?.blur();
    if (key !== 'Enter' || shiftKey || isTouch.value) return;
    event.preventDefault();
    void submit();
  };

  const facts = [modelLine.value, info.value && `window ${shortCount(info.value.contextWindow)}`];
  return (
    <div class="composer pad">
      <textarea
        ref={field}
        rows={1}
        placeholder={hint()}
        aria-label="Message"
        value={text}
        disabled={gone}
        onInput={(event) => (draftText.value = event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <div class="row">
        <span class="clip quiet label">{facts.filter(Boolean).join(' · ')}</span>
        {phase.value === 'ready' && !following.value && (
          <Button onClick={followEnd}>
            <ArrowDown size={16} aria-hidden="true" /> To the end
          </Button>
        )}
        {running && (
          <Button class="composer-stop" onClick={() => void stop()}>
            <Square size={12} fill="currentColor" /> Stop
          </Button>
        )}
        <Button
          class="button-main composer-send"
          aria-label="Send"
          title={`${running ? 'Send for the next step' : 'Send'}${isTouch.value ? '' : ' (Enter)'}`}
          disabled={!text.trim() || sending.value || gone}
          onClick={() => void submit()}
        >
          <ArrowUp size={16} />
        </Button>
      </div>
    </div>
  );
}
