import { Shrink, TriangleAlert, Undo2 } from 'lucide-preact';
import {
  authorInWords,
  changeInWords,
  REASONS,
  stagesInWords,
} from '../../../../cli/src/terminal/compaction-words.js';
import { duration, plural } from '../lib/format.js';
import { undoLast } from '../state/commands.js';
import { busy, lastApplied, transcript } from '../state/session.js';
import { type Compaction, fatesInWords, isStanding } from '../state/transcript.js';
import { isOpen } from '../state/view.js';
import { Button, Facts, Fold } from './parts.js';
import { RequestChanges } from './request-changes.js';

const heads: Readonly<Record<Compaction['status'], string>> = {
  applied: 'Compacted',
  ineffective: 'Too little could be removed',
  skipped: 'Compaction skipped',
  failed: 'Compaction failed',
  aborted: 'Compaction stopped',
};

/** Returns the headline for the outcome of a compaction. */
export function headOf({ status, undone }: Compaction): string {
  return undone ? 'Compaction undone' : heads[status];
}

/** A compaction as a line across the conversation. It expands to its details, whatever its outcome. */
export function CompactionDivider({ compaction }: { readonly compaction: Compaction }) {
  const stands = isStanding(compaction);
  const Icon = stands ? Shrink : TriangleAlert;
  const undone = `${plural(compaction.manifest.length, 'message')} restored`;
  const what = stands ? changeInWords(compaction) : compaction.undone ? undone : 'nothing was changed';
  const line = (
    <>
      <Icon size={16} aria-hidden="true" />
      <span>
        <strong>{headOf(compaction)}</strong>
        {` · ${what}`}
        {stands && <span class="wide-only"> · {stagesInWords(compaction.stagesUsed)}</span>}
      </span>
    </>
  );
  return (
    <article
      class={`block compaction${stands ? '' : ' compaction-void'}`}
      id={compaction.id}
      data-turn
      tabIndex={-1}
      aria-label={headOf(compaction)}
    >
      <Fold id={`${compaction.id}-fold`} line={line}>
        {() => <CompactionDetails compaction={compaction} />}
      </Fold>
    </article>
  );
}

/** All compactions except the last one and those that are shown in place, collapsed into one line. */
export function EarlierCompactions() {
  const earlier = transcript.value.compactions.slice(0, -1).filter(({ id }) => !isOpen(`${id}-place`));
  if (earlier.length === 0) return null;
  const undone = earlier.filter((each) => each.undone).length;
  const words = `${plural(earlier.length, 'earlier compaction')}${undone > 0 ? `, ${undone} undone` : ''}`;
  return (
    <div class="block earlier" data-turn tabIndex={-1}>
      <Fold id="earlier-compactions" line={<span class="quiet">{words}</span>}>
        {() => earlier.map((each) => <CompactionDivider key={each.id} compaction={each} />)}
      </Fold>
    </div>
  );
}

/** The reason and outcome, the steps, and the removed content. */
function CompactionDetails({ compaction }: { readonly compaction: Compaction }) {
  const { id, status, reason, steps, manifest, undone } = compaction;
  const place = undone ? compaction.undoPlace : compaction.place;
  const join = (...words: readonly string[]) => words.filter(Boolean).join(' · ');
  const stages = status === 'applied' ? stagesInWords(compaction.stagesUsed) : '';
  const effective = steps.filter(({ tokensBefore, tokensAfter }) => tokensBefore !== tokensAfter);
  const stepFacts = effective.map((step, index) => {
    const change = join(changeInWords(step), step.note ?? '');
    return [`Step ${index + 1}`, `${stagesInWords(step.stage)}: ${change}`] as const;
  });
  const isPlain = isStanding(compaction) && reason !== 'manual';
  const facts: readonly (readonly [string, string])[] = [
    ['Why', REASONS[reason]],
    ...(isPlain ? [] : [['Outcome', join(undone ? 'undone' : status, compaction.message)] as const]),
    ['How', join(stages, authorInWords(compaction), duration(compaction.durationMs))],
    ...(compaction.warning ? [['Warning', compaction.warning] as const] : []),
    ...(stepFacts.length > 1 ? stepFacts : []),
  ];
  return (
    <div class="compaction-details card stack small pad-wide">
      <Facts rows={facts} />
      {manifest.length > 0 && place > 0 && (
        <section>
          <h2 class="removed-heading heading">
            {undone ? 'What the undo changed' : 'What the model no longer sees'}{' '}
            {!undone && <span class="quiet small">{fatesInWords(manifest)}</span>}
          </h2>
          <RequestChanges place={place} />
        </section>
      )}
      {lastApplied.value?.id === id && (
        <Button disabled={busy.value} onClick={() => void undoLast()}>
          <Undo2 size={16} aria-hidden="true" /> Undo this compaction
        </Button>
      )}
    </div>
  );
}
