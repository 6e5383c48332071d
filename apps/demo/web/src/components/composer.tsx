import { useSignal } from '@preact/signals';
import { ArrowUp, Square } from 'lucide-preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { shortCount } from '../lib/format.js';
import { type Command, commandOf, say, suggestedCommands } from '../state/commands.js';
import { info, modelLine } from '../state/info.js';
import { call, compacting, draftText, pending, phase, sending, stop, work } from '../state/session.js';
import { Button } from './button.js';

/** What sending would do now. */
function hint(): string {
  if (pending.value.length > 0) return 'Say something instead: what waits for you is then not run';
  if (call.value) return 'Say something: the model reads it at its next step';
  return 'Say something, or / for commands';
}

/** Where one writes: to the agent, or a command to the page. */
export function Composer() {
  const field = useRef<HTMLTextAreaElement>(null);
  const chosen = useSignal(0);
  const text = draftText.value;
  const refused = useSignal('');
  // What was refused as it stands needs its reason in sight, not the list again.
  const commands = text === refused.value ? [] : suggestedCommands(text);
  const running = call.value !== undefined || compacting.value !== undefined;
  const gone = phase.value === 'failed';

  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
  }, [text]);

  const take = (command: Command) => {
    draftText.value = command.takesText ? `/${command.name} ` : `/${command.name}`;
    chosen.value = 0;
    field.current?.focus();
  };
  const submit = async () => {
    if (!text.trim() || sending.peek() || gone) return;
    draftText.value = '';
    const done = await say(text);
    // What was not accepted is not lost.
    if (!done && draftText.peek() === '') {
      draftText.value = text;
      refused.value = text;
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const menu = commands.length > 0;
    if (event.key === 'Escape') field.current?.blur();
    else if (menu && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      chosen.value = (chosen.value + step + commands.length) % commands.length;
    } else if (menu && (event.key === 'Tab' || event.key === 'Enter') && !commandOf(text)) {
      event.preventDefault();
      const command = commands[chosen.value] ?? commands[0];
      if (command) take(command);
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      void submit();
    }
  };

  const mode = work.value.permissionMode;
  return (
    <div class="composer">
      {commands.length > 0 && <CommandMenu commands={commands} chosen={chosen.value} onTake={take} />}
      <textarea
        ref={field}
        rows={1}
        placeholder={hint()}
        aria-label="Message"
        value={text}
        disabled={gone}
        onInput={(event) => {
          draftText.value = event.currentTarget.value;
        }}
        onKeyDown={onKeyDown}
      />
      <div class="composer-foot row">
        <span class="clip quiet label">
          {modelLine.value}
          {info.value && <span> · window {shortCount(info.value.contextWindow)}</span>}
          {mode !== undefined && mode !== 'default' && <span> · permissions: {mode}</span>}
        </span>
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

interface CommandMenuProps {
  readonly commands: readonly Command[];
  readonly chosen: number;
  onTake(command: Command): void;
}

/** What can be written after a `/`. */
function CommandMenu({ commands, chosen, onTake }: CommandMenuProps) {
  return (
    <ul class="commands" aria-label="Commands">
      {commands.map((command, index) => (
        <li key={command.name}>
          <button
            type="button"
            aria-current={index === chosen ? 'true' : undefined}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => onTake(command)}
          >
            <code>
              /{command.name}
              {command.takesText && <span> [{command.takesText}]</span>}
            </code>
            <span>{command.description}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
