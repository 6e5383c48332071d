import type { CompactionStep } from '@x/core';
import { Shrink, TriangleAlert, Undo2 } from 'lucide-preact';
import { duration, exactCount, plural, shortCount } from '../lib/format.js';
import { busy, lastApplied, transcript, undo } from '../state/session.js';
import { type Compaction, fatesInWords, isStanding } from '../state/transcript.js';
import { Markdown } from './markdown.js';
import { Button, Fold } from './parts.js';
import { RequestChanges } from './request-changes.js';

const heads: Readonly<Record<Compaction['status'], string>> = {
  applied: 'Context compacted',
  ineffective: 'Compaction had no effect',
  skipped: 'Compaction skipped',
  failed: 'Compaction failed',
  aborted: 'Compaction stopped',
};

const reasons: Readonly<Record<Compaction['reason'], string>> = {
  proactive_budget: 'The window was nearly full',
  request_too_large: 'The provider refused the request as too large',
  manual: 'You asked for it',
};

interface CompactionProps {
  readonly compaction: Compaction;
}

/** What a compaction did: a heading, its messages and its tokens. */
export function compactionTitle(compaction: Compaction) {
  const { status, undone, messagesBefore, messagesAfter } = compaction;
  if (undone) return { head: 'Compaction undone' };
  if (status !== 'applied') return { head: heads[status], messages: 'nothing was changed' };
  const isSame = messagesBefore === messagesAfter;
  const messages = isSame ? undefined : `${exactCount(messagesBefore)} → ${plural(messagesAfter, 'message')}`;
  return { head: heads.applied, messages, tokens: beforeAndAfter(compaction) };
}

export function beforeAndAfter({ tokensBefore, tokensAfter }: Compaction): string {
  return `${shortCount(tokensBefore)} → ${shortCount(tokensAfter)} tokens`;
}

/** A compaction as a line across the conversation. It opens to its details, whatever its outcome. */
export function CompactionDivider({ compaction }: CompactionProps) {
  const Icon = compaction.status === 'applied' ? Shrink : TriangleAlert;
  const { head, messages, tokens } = compactionTitle(compaction);
  const line = (
    <span class="compaction-line row">
      <Icon size={16} aria-hidden="true" />
      <span>
        <strong>{head}</strong>
        {messages && ` · ${messages}`}
        {tokens && <span class={messages && 'wide-only'}> · {tokens}</span>}
      </span>
    </span>
  );
  return (
    <article
      class={`block compaction${isStanding(compaction) ? '' : ' compaction-void'}`}
      id={compaction.id}
      data-turn
      tabIndex={-1}
      aria-label={head}
    >
      <Fold id={`${compaction.id}-fold`} line={line}>
        {() => <CompactionDetails compaction={compaction} />}
      </Fold>
    </article>
  );
}

/** All compactions but the last one, in one line that opens. */
export function EarlierCompactions() {
  const earlier = transcript.value.compactions.slice(0, -1);
  if (earlier.length === 0) return null;
  return (
    <div class="block earlier" data-turn tabIndex={-1}>
      <Fold
        id="earlier-compactions"
        line={<span class="quiet">{plural(earlier.length, 'earlier compaction')}</span>}
      >
        {() => earlier.map((each) => <CompactionDivider key={each.id} compaction={each} />)}
      </Fold>
    </div>
  );
}

/** Why and how, the steps, and what the model no longer sees. */
function CompactionDetails({ compaction }: CompactionProps) {
  const { id, status, detail, reason, durationMs, steps, manifest, undone, usage, place, strategyUsed } =
    compaction;
  const ways = strategyUsed.replaceAll('_', ' ').replaceAll('+', ', then ');
  const how = [ways, usage ? 'a model wrote the summary' : 'no model was called', duration(durationMs)];
  const isPlain = status === 'applied' && !undone && reason !== 'manual';
  const facts = [
    ['Why', reasons[reason]],
    ...(isPlain ? [] : [['Outcome', [undone ? 'undone' : status, detail].filter(Boolean).join(' · ')]]),
    ['How', how.filter(Boolean).join(' · ')],
  ];
  return (
    <div class="compaction-details card stack small">
      <dl class="facts">
        {facts.map(([name, text]) => (
          <div key={name} class="row">
            <dt class="quiet">{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      {manifest.length > 0 && !undone && place > 0 && (
        <section>
          <h2 class="removed-heading heading">
            What the model no longer sees <span class="quiet small">{fatesInWords(manifest)}</span>
          </h2>
          <RequestChanges place={place} summaryAs={usage ? (text) => <Markdown text={text} /> : undefined} />
        </section>
      )}
      {steps.length > 0 && <CompactionSteps id={id} steps={steps} />}
      {lastApplied.value?.id === id && (
        <Button disabled={busy.value} onClick={() => void undo()}>
          <Undo2 size={16} aria-hidden="true" /> Undo this compaction
        </Button>
      )}
    </div>
  );
}

/** What each step changed, with messages and tokens before and after. */
function CompactionSteps({ id, steps }: { readonly id: string; readonly steps: readonly CompactionStep[] }) {
  const change = (before: number, after: number, word: typeof shortCount) =>
    before === after ? '–' : `${word(before)} → ${word(after)}`;
  return (
    <Fold id={`${id}-steps`} line={<span class="grow">Steps</span>}>
      {() => (
        <table class="table steps">
          <thead>
            <tr>
              {['Step', 'Messages', 'Tokens', 'Time'].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.map((step, index) => (
              <tr key={index} title={step.note}>
                <th scope="row">{step.reducer.replaceAll('_', ' ')}</th>
                <td>{change(step.messagesBefore, step.messagesAfter, exactCount)}</td>
                <td>{change(step.tokensBefore, step.tokensAfter, shortCount)}</td>
                <td>{duration(step.durationMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Fold>
  );
}
