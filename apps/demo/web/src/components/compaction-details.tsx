import './compaction-details.css';
import { Undo2 } from 'lucide-preact';
import type { CompactionRecord } from '../../../src/server/transcript.js';
import { reasons } from '../lib/compaction-words.js';
import { duration } from '../lib/format.js';
import { info } from '../state/info.js';
import { lastApplied } from '../state/last-compaction.js';
import { busy, undo } from '../state/session.js';
import { CompactionSteps } from './compaction-steps.js';
import { Fold } from './fold.js';
import { Markdown } from './markdown.js';
import { RemovedList } from './removed-list.js';

/** How a compaction came about, step by step, and what it took away. */
export function CompactionDetails({ compaction }: { readonly compaction: CompactionRecord }) {
  const { status, detail, reason, durationMs, steps, manifest, summary, undone } = compaction;
  const canUndo = info.value?.abilities.undo && lastApplied.value?.id === compaction.id;
  return (
    <div class="compaction-details">
      <dl class="compaction-facts">
        <div>
          <dt>Why</dt>
          <dd>{reasons[reason]}</dd>
        </div>
        <div>
          <dt>Outcome</dt>
          <dd>
            {undone ? 'undone' : status} · {detail}
          </dd>
        </div>
        <div>
          <dt>Took</dt>
          <dd>{duration(durationMs)}</dd>
        </div>
      </dl>
      {steps.length > 0 && <CompactionSteps steps={steps} />}
      {manifest.length > 0 && !undone && <RemovedList compaction={compaction} />}
      {summary && !undone && (
        <Fold
          id={`${compaction.id}-summary`}
          line={<span class="compaction-heading">What stands in their place: the summary</span>}
        >
          {() => (
            <div class="compaction-summary">
              <Markdown text={summary.replace(/\[\/?CONVERSATION_SUMMARY\]\n?/g, '')} />
            </div>
          )}
        </Fold>
      )}
      {canUndo && (
        <button
          type="button"
          class="button compaction-undo"
          disabled={busy.value}
          onClick={() => void undo(compaction.id)}
        >
          <Undo2 size={16} /> Undo this compaction
        </button>
      )}
    </div>
  );
}
