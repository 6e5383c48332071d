import './thought.css';
import { Lightbulb } from 'lucide-preact';
import { firstLine } from '../lib/message-text.js';
import { Fold } from './fold.js';

/** What the model thought, folded. */
export function Thought({ id, text }: { readonly id: string; readonly text: string }) {
  const line = (
    <>
      <Lightbulb size={16} aria-hidden="true" />
      <span class="thought-line">{firstLine(text)}</span>
    </>
  );
  return (
    <Fold id={id} class="thought" line={line}>
      {() => <p class="thought-text">{text}</p>}
    </Fold>
  );
}
