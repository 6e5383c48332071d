import './compaction-divider.css';
import { Shrink, TriangleAlert } from 'lucide-preact';
import type { CompactionRecord } from '../../../src/server/transcript.js';
import { compactionTitle } from '../lib/compaction-words.js';
import { CompactionDetails } from './compaction-details.js';
import { Fold } from './fold.js';

/** A compaction as a line across the conversation that one can open. Bad outcomes show too, in words. */
export function CompactionDivider({ compaction }: { readonly compaction: CompactionRecord }) {
  const applied = compaction.status === 'applied';
  const Icon = applied ? Shrink : TriangleAlert;
  const { head, messages, tokens, strategy } = compactionTitle(compaction);
  const line = (
    <span class="compaction-line">
      <Icon size={16} aria-hidden="true" />
      <span class="compaction-title">
        <strong>{head}</strong>
        {messages && ` · ${messages}`}
        {/* Messages say it already where there is little room. */}
        {tokens && <span class={messages && 'compaction-tokens'}> · {tokens}</span>}
        {strategy && ` · ${strategy}`}
      </span>
    </span>
  );
  return (
    <section
      class={`block compaction${applied && !compaction.undone ? '' : ' compaction-void'}`}
      id={compaction.id}
      data-turn
      tabIndex={-1}
      aria-label={head}
    >
      <Fold id={compaction.id} line={line}>
        {() => <CompactionDetails compaction={compaction} />}
      </Fold>
    </section>
  );
}
