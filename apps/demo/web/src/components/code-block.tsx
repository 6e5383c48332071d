import './code-block.css';
import { CopyButton } from './copy-button.js';

interface CodeBlockProps {
  readonly label: string;
  readonly text: string;
  /** For example its size. */
  readonly figure?: string;
}

/** Monospaced text as it is, with copy. Long ones scroll inside. */
export function CodeBlock({ label, text, figure }: CodeBlockProps) {
  return (
    <figure class="code-block">
      <figcaption>
        <span>{label}</span>
        {figure && <span>{figure}</span>}
        <CopyButton text={text} what={label} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with keys. */}
      <pre tabIndex={0}>{text}</pre>
    </figure>
  );
}
