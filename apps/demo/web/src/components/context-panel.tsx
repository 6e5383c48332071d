import { savingsInWords } from '@x/harness/view';
import { Circle, CircleCheck, CircleDot, Shrink, TriangleAlert } from 'lucide-preact';
import { useEffect, useRef } from 'preact/hooks';
import { changeInWords } from '../../../../cli/src/terminal/compaction-words.js';
import type { FileInfo } from '../../../src/page.js';
import { costOf, exactCount, money, plural, share, shortCount, size } from '../lib/format.js';
import { replyInWords } from '../state/blocks.js';
import { context, files, info, state, transcript } from '../state/session.js';
import { showCompaction, showMessage } from '../state/show-message.js';
import { fatesInWords, isStanding, standingInWords } from '../state/transcript.js';
import { fileAddress, lookedAt, shownPlace } from '../state/view.js';
import { headOf } from './compaction.js';
import { Gauge, Legend } from './gauge.js';
import { Gone } from './gone.js';
import { Button, Fold, Section } from './parts.js';
import { RequestChanges } from './request-changes.js';
import { placeTitle, WindowChart } from './window-chart.js';

/** The model's view, now or at a place of the session, the last compaction, and the cost. */
export function ContextPanel() {
  const { todos } = state.value;
  const done = todos.filter(({ status }) => status === 'completed').length;
  return (
    <aside class="column panel" aria-label="Context">
      <header class="column-header row">
        <h2 class="heading">Context</h2>
      </header>
      <div class="panel-content scrolls stack stack-wide">
        <Gauge />
        {context.value && (
          <>
            <LastCompaction />
            <Gone />
            <Section title="What fills the window">
              <Legend />
            </Section>
            <Section title="Every request">
              <WindowChart />
            </Section>
            <ShownPlace />
            <Section title="Cost and savings">
              <Costs />
            </Section>
          </>
        )}
        <Files title="Files" files={files.value.filter(({ isMemory }) => !isMemory)} />
        <Files title="Memory" files={files.value.filter(({ isMemory }) => isMemory)} />
        {todos.length > 0 && (
          <Section title="Todos" figure={`${done} of ${todos.length}`}>
            <ul class="stack small">
              {todos.map(({ content, status }, index) => (
                <li key={index} class="row">
                  <StatusIcon status={status} />
                  <span>{content}</span>
                </li>
              ))}
            </ul>
          </Section>
        )}
      </div>
    </aside>
  );
}

/** Files that the agent wrote. Each opens in the middle column. */
function Files({ title, files }: { readonly title: string; readonly files: readonly FileInfo[] }) {
  if (files.length === 0) return null;
  return (
    <Section title={title} figure={plural(files.length, 'file')}>
      <ul class="stack small">
        {files.map(({ path, isMemory, size: bytes }) => (
          <li key={path} class="row">
            <a class="clip" href={fileAddress(path)}>
              {isMemory ? path.split('/').at(-1) : path}
            </a>
            <span class="figure">{size(bytes)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

const statuses = {
  pending: [Circle, 'to do'],
  in_progress: [CircleDot, 'doing'],
  completed: [CircleCheck, 'done'],
} as const;

function StatusIcon({ status }: { readonly status: keyof typeof statuses }) {
  const [Icon, label] = statuses[status];
  return <Icon class={status === 'in_progress' ? 'accent' : 'quiet'} size={16} aria-label={label} />;
}

/** The last compaction, with a link to its position. */
function LastCompaction() {
  const last = transcript.value.compactions.at(-1);
  if (!last)
    return <p class="quiet small">Nothing has been removed: the model sees the whole conversation.</p>;
  const isApplied = isStanding(last);
  const Icon = isApplied ? Shrink : TriangleAlert;
  return (
    <button type="button" class="last card press row small pad-wide" onClick={() => showCompaction(last.id)}>
      <Icon class={isApplied ? 'accent' : 'warn'} size={16} aria-hidden="true" />
      <span class="grow">
        <strong>{isApplied ? `Last compaction: ${fatesInWords(last.manifest)}` : headOf(last)}</strong>
        <div class="quiet">
          {isApplied
            ? changeInWords(last)
            : `${last.undone ? '' : last.message} ${standingInWords(transcript.value)}`}
        </div>
      </span>
    </button>
  );
}

/** The messages of the selected place, with the changes there. Without one, the current messages, collapsed. */
function ShownPlace() {
  const at = lookedAt.value;
  const shown = useRef<HTMLDivElement>(null);
  useEffect(() => shown.current?.scrollIntoView({ block: 'nearest' }), [at]);
  if (at === undefined)
    return (
      <Fold id="messages-now" line={<span class="grow heading">What the model sees now</span>}>
        {() => <RequestChanges place={undefined} whole />}
      </Fold>
    );
  const { messageId } = shownPlace.value ?? {};
  return (
    <div class="shown-place" ref={shown}>
      <Section title={shownPlace.value ? placeTitle(at - 1) : `Place ${at}`}>
        {messageId && <p class="quiet small">{replyInWords([messageId]).split('\n')[0]}</p>}
        {messageId && <Button onClick={() => showMessage(messageId)}>Show the answer</Button>}
        <RequestChanges key={at} place={at} whole />
      </Section>
    </div>
  );
}

/** Tokens and cost of the session so far, savings of compaction, and how they are counted. */
function Costs() {
  const { usage, modelCalls, memoryCalls, savings } = transcript.value;
  const { inputTokens: input, outputTokens, cachedInputTokens: cached = 0 } = usage;
  const { embedded, prices } = info.value?.model ?? {};
  const none = 'none: no LLM';
  const saved = savings.unreduced - savings.sent;
  const rows: readonly (readonly [name: string, figure: string, exact?: number])[] = [
    ['Model calls', exactCount(modelCalls)],
    ...(memoryCalls > 0 ? [['of them for the memory', exactCount(memoryCalls)] as const] : []),
    ['Tokens in, reported for all calls', shortCount(input), input],
    [
      'of them from the cache',
      embedded && cached === 0 ? none : `${shortCount(cached)} · ${share(cached, input)}`,
      cached,
    ],
    ['Tokens out', shortCount(outputTokens), outputTokens],
    ['Saved by compaction, estimated', `${shortCount(saved)} · ${share(saved, savings.unreduced)}`, saved],
    ['Cost', prices ? money(costOf(usage, prices)) : embedded ? none : 'prices unknown'],
  ];
  return (
    <>
      <dl class="figures">
        {rows.map(([name, figure, exact]) => (
          <div key={name} title={exact === undefined ? undefined : `${exactCount(exact)} tokens`}>
            <dt>{name}</dt>
            <dd>{figure}</dd>
          </div>
        ))}
      </dl>
      <Fold id="counted" line={<span class="quiet">How savings are counted</span>}>
        {() => (
          <p class="quiet small">
            {savingsInWords(savings)}
            {saved < 0 && ' The compactions have not paid off yet: they will, with more requests.'} Each
            request counts as it was sent. Without compaction, it would also have what earlier compactions
            removed ({plural(savings.compactions, 'compaction')} in effect). Model calls that wrote summaries
            count as sent. We assume that the agent takes the same steps. The agent's requests are estimated,
            and model calls for the memory are left out. “Tokens in” is what the model's server reported.
          </p>
        )}
      </Fold>
    </>
  );
}
