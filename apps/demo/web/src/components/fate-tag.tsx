import './fate-tag.css';
import { EyeOff } from 'lucide-preact';
import type { Fate } from '../../../src/server/transcript.js';
import { setOpen } from '../state/open-items.js';

/** Says that the model no longer sees this as it was; leads to the compaction that did it. */
export function FateTag({ fate }: { readonly fate: Fate }) {
  const show = () => {
    setOpen(fate.compactionId, true);
    document.getElementById(fate.compactionId)?.scrollIntoView({ block: 'center' });
  };
  return (
    <button
      type="button"
      class="tag fate-tag"
      title={`The model no longer sees this as it was: ${fate.fate} by a compaction`}
      onClick={show}
    >
      <EyeOff size={12} aria-hidden="true" />
      {fate.fate}
    </button>
  );
}
