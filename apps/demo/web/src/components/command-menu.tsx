import './command-menu.css';
import type { Command } from '../lib/commands.js';

interface CommandMenuProps {
  readonly commands: readonly Command[];
  readonly chosen: number;
  onTake(command: Command): void;
}

/** What can be written after a `/`. */
export function CommandMenu({ commands, chosen, onTake }: CommandMenuProps) {
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
