import { useSignal } from '@preact/signals';
import { Check, Copy } from 'lucide-preact';

/** Copies a text, and says that it did. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const copied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    copied.value = true;
    setTimeout(() => {
      copied.value = false;
    }, 1_500);
  };
  const label = copied.value ? 'Copied' : `Copy ${what.toLowerCase()}`;
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={label}
      title={label}
      onClick={() => void copy().catch(() => undefined)}
    >
      {copied.value ? <Check size={16} /> : <Copy size={16} />}
    </button>
  );
}
