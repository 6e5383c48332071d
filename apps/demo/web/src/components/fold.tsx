import { ChevronRight } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { isOpen, toggleOpen } from '../state/view.js';

interface FoldProps {
  readonly id: string;
  readonly class?: string;
  /** The line that is always there. */
  readonly line: ComponentChildren;
  /** Drawn only while open. */
  readonly children: () => ComponentChildren;
}

/** One line that opens. What is open stays open as long as the page lives. */
export function Fold({ id, line, children, class: className = '' }: FoldProps) {
  const open = isOpen(id);
  return (
    <div class={`fold ${className}`}>
      <button
        type="button"
        class="fold-line"
        data-fold
        aria-expanded={open}
        aria-controls={`${id}-inside`}
        onClick={() => toggleOpen(id)}
      >
        {line}
        <ChevronRight class="fold-mark" size={16} aria-hidden="true" />
      </button>
      {open && (
        <div class="fold-inside" id={`${id}-inside`}>
          {children()}
        </div>
      )}
    </div>
  );
}
