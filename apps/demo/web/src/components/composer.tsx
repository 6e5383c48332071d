import { useSignal } from '@preact/signals';
import { ArrowUp, Square } from 'lucide-preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { shortCount } from '../lib/format.js';
import { type Command, isCommand, say, suggestedCommands } from '../state/commands.js';
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
import { Button } from './parts.js';

/** What sending would do now. */
function hint(): string {
  if (pending.value.length > 0) return 'Say something else instead';
  if (call.value) return 'Say something: the model reads it at its next step';
  return 'Say something, or / for commands';
}

/** Where one writes: to the agent, or a command. */
export function Composer() {
  // Long because the draft, the keys and the menu share their state.
  const field = useRef<HTMLTextAreaElement>(null);
  const refused = useSignal('');
  const text = draftText.value;
  // A refused command needs its reason in sight, not the list again.
  const commands = text === refused.value ? [] : suggestedCommands(text);
  const running = call.value !== undefined || compacting.value !== undefined;
  const gone = phase.value === 'failed';

  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
  }, [text]);

  const take = ({ name, takesText }: Command) => {
    draftText.value = `/${name}${takesText ? ' ' : ''}`;
    field.current?.focus();
  };
  const submit = async () => {
    if (!text.trim() || sending.peek() || gone) return;
    draftText.value = '';
    const accepted = await say(text);
    if (accepted || draftText.peek() !== '') return;
    draftText.value = text;
    refused.value = text;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key, isComposing, shiftKey } = event;
    if (isComposing) return;
    const command = ['Tab', 'Enter'].includes(key) && !isCommand(text) ? commands[0] : undefined;
    if (key === 'Escape') return field.current?.blur();
    if (command === undefined && (key !== 'Enter' || shiftKey)) return;
    event.preventDefault();
    if (command) take(command);
    else void submit();
  };

  const facts = [modelLine.value, info.value && `window ${shortCount(info.value.contextWindow)}`];
  return (
    <div class="composer pad">
      {commands.length > 0 && (
        <ul class="commands card pad" aria-label="Commands">
          {commands.map((command) => (
            <li key={command.name}>
              <button
                type="button"
                class="press row wrap small pad"
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => take(command)}
              >
                <code>
                  /{command.name} {command.takesText && <span>[{command.takesText}]</span>}
                </code>
                <span>{command.description}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
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
        {running && (
          <Button class="composer-stop" onClick={() => void stop()}>
            <Square size={12} fill="currentColor" /> Stop
          </Button>
        )}
        <Button
          class="button-main composer-send"
          aria-label="Send"
          title={running ? 'Say it at the next step (Enter)' : 'Send (Enter)'}
          disabled={!text.trim() || sending.value || gone}
          onClick={() => void submit()}
        >
          <ArrowUp size={16} />
        </Button>
      </div>
    </div>
  );
}
