import { useSignal } from '@preact/signals';
import { Check, Copy } from 'lucide-preact';
import { IconButton } from './button.js';

interface CodeBlockProps {
  readonly label: string;
  readonly text: string;
  /** For example its size. */
  readonly figure?: string;
  /** Of a diff, line by line: `+`, `-` or a space. */
  readonly marks?: readonly string[];
}

/** Monospaced text as it is, with copy. Long ones scroll inside. */
export function CodeBlock({ label, text, figure, marks }: CodeBlockProps) {
  return (
    <figure class="code-block card">
      <figcaption class="row quiet label">
        <span>{label}</span>
        {figure && <span>{figure}</span>}
        <CopyButton text={text} what={label} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with keys. */}
      <pre tabIndex={0}>
        {marks
          ? text.split('\n').map((line, at) => (
              <span key={at} data-mark={marks[at]}>
                {`${line}\n`}
              </span>
            ))
          : text}
      </pre>
    </figure>
  );
}

/** Copies a text, and says that it did. */
function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const copied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    copied.value = true;
    setTimeout(() => {
      copied.value = false;
    }, 1_500);
  };
  return (
    <IconButton
      label={copied.value ? 'Copied' : `Copy ${what.toLowerCase()}`}
      icon={copied.value ? Check : Copy}
      onClick={() => void copy().catch(() => undefined)}
    />
  );
}
