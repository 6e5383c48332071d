import './last-compaction.css';
import { Shrink, TriangleAlert } from 'lucide-preact';
import { compactionTitle, fatesInWords } from '../lib/compaction-words.js';
import { shortCount } from '../lib/format.js';
import { lastApplied, lastCompaction } from '../state/last-compaction.js';
import { setOpen } from '../state/open-items.js';
import { sheetOpen } from '../state/view.js';

/** What was removed last, in one glance; leads to where it happened. */
export function LastCompaction() {
  const applied = lastApplied.value;
  const last = lastCompaction.value;
  if (!last) return <p class="last-none">Nothing has been removed: the model sees the whole conversation.</p>;
  const show = (id: string) => {
    sheetOpen.value = false;
    setOpen(id, true);
    const divider = document.getElementById(id);
    divider?.scrollIntoView({ block: 'start' });
    divider?.focus({ preventScroll: true });
  };
  return (
    <div class="last-list">
      {applied && (
        <button type="button" class="last" onClick={() => show(applied.id)}>
          <Shrink size={16} aria-hidden="true" />
          <span>
            <strong>Removed last: {fatesInWords(applied.manifest)}</strong>
            <span>
              {shortCount(applied.tokensBefore)} → {shortCount(applied.tokensAfter)} tokens
            </span>
            <small>{applied.strategyUsed}</small>
          </span>
        </button>
      )}
      {last !== applied && (
        <button type="button" class="last last-void" onClick={() => show(last.id)}>
          <TriangleAlert size={16} aria-hidden="true" />
          <span>
            <strong>{compactionTitle(last).head}</strong>
            <span>{last.undone ? 'The model sees everything again.' : last.detail}</span>
          </span>
        </button>
      )}
    </div>
  );
}
