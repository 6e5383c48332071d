import { useSignalEffect } from '@preact/signals';
import {
  Circle,
  CircleAlert,
  CircleCheck,
  CircleDot,
  CircleX,
  ScanSearch,
  Shrink,
  TriangleAlert,
} from 'lucide-preact';
import { costOf, exactCount, money, plural, share, shortCount, size } from '../lib/format.js';
import { beforeAndAfter, compactionTitle, fatesInWords } from '../lib/words.js';
import { lastApplied, lastCompaction, standing } from '../state/blocks.js';
import {
  busy,
  context,
  files,
  info,
  loadFiles,
  phase,
  plan,
  setPlanMode,
  tasks,
  timeline,
  todos,
  totals,
} from '../state/session.js';
import { showCompaction } from '../state/show-message.js';
import type { Compaction } from '../state/transcript.js';
import { fileAddress, lookedAt, sheetOpen, toggleInspector, view } from '../state/view.js';
import { Gauge, Legend } from './gauge.js';
import { Markdown } from './markdown.js';
import { Button, Fold, Section } from './parts.js';
import { WindowChart } from './window-chart.js';

/** What the model sees now, what was removed last, and what it cost. */
export function ContextPanel() {
  // Long because it is the list of the panel's sections.
  // The agent may have written files while it worked.
  useSignalEffect(() => {
    if (!busy.value) void loadFiles();
  });
  const done = todos.value.filter((todo) => todo.status === 'completed').length;
  const inspect = (step: number) => {
    lookedAt.value = step;
    if (view.peek() !== 'inspect') toggleInspector();
  };
  return (
    <aside class="column panel" aria-label="Context">
      <header class="column-header row">
        <h2 class="heading grow">Context</h2>
        {timeline.value.length > 0 && (
          <Button
            class="panel-inspect"
            aria-pressed={view.value === 'inspect'}
            title="Inspector (i)"
            onClick={toggleInspector}
          >
            <ScanSearch size={16} aria-hidden="true" /> Inspect
          </Button>
        )}
      </header>
      <div class="panel-content scrolls stack">
        <Gauge />
        {context.value && (
          <>
            <LastCompaction />
            <Section title="What fills the window">
              <Legend />
            </Section>
            <Section title="Tokens per step">
              <WindowChart width={328} height={96} onPick={inspect} />
            </Section>
            <Section title="Cost and cache">
              <dl class="figures">
                {costs().map(([name, figure, tokens]) => (
                  <div key={name} title={tokens === undefined ? undefined : `${exactCount(tokens)} tokens`}>
                    <dt>{name}</dt>
                    <dd>{figure}</dd>
                  </div>
                ))}
              </dl>
            </Section>
          </>
        )}
        {todos.value.length > 0 && (
          <Section title="Todos" figure={`${done} of ${todos.value.length}`}>
            <ul class="todos small">
              {todos.value.map(({ content, status }, index) => (
                <li key={index} class="row" data-status={status}>
                  <StatusIcon status={status} />
                  <span>{content}</span>
                </li>
              ))}
            </ul>
          </Section>
        )}
        {phase.value === 'ready' && info.value?.plans && (
          <Section title="Plan">
            <PlanView />
          </Section>
        )}
        {tasks.value.length > 0 && (
          <Section title="Background tasks" figure={plural(tasks.value.length, 'task')}>
            <ul>
              {tasks.value.toReversed().map(({ taskId, subagent, task, status, outcome }) => (
                <li key={taskId} data-status={status}>
                  <Fold
                    id={`task-${taskId}`}
                    line={
                      <>
                        <StatusIcon status={status} />
                        <span class="clip">{task}</span>
                        <span class="task-status quiet label">{statuses[status][1]}</span>
                      </>
                    }
                  >
                    {() => (
                      <p class="small">
                        {subagent}: {task}
                        <br />
                        <span class="quiet">{outcome}</span>
                      </p>
                    )}
                  </Fold>
                </li>
              ))}
            </ul>
          </Section>
        )}
        {files.value.length > 0 && (
          <Section title="Files" figure={plural(files.value.length, 'file')}>
            <ul>
              {files.value.map(({ path, size: bytes }) => (
                <li key={path} class="row small">
                  <a class="clip" href={fileAddress(path)} onClick={() => (sheetOpen.value = false)}>
                    {path}
                  </a>
                  <span class="figure">{size(bytes)}</span>
                </li>
              ))}
            </ul>
          </Section>
        )}
      </div>
    </aside>
  );
}

/** What the session has taken so far. */
function costs(): readonly (readonly [name: string, figure: string, exact?: number])[] {
  const { usage, modelCalls } = totals.value;
  const { inputTokens: input, outputTokens: output, cachedInputTokens: cached = 0 } = usage;
  const { embedded, prices } = info.value?.model ?? {};
  const none = 'none: no LLM';
  const fromCache = embedded && cached === 0 ? none : `${shortCount(cached)} · ${share(cached, input)}`;
  return [
    ['Model calls', exactCount(modelCalls)],
    ['Tokens in', shortCount(input), input],
    ['of them from the cache', fromCache, cached],
    ['Tokens out', shortCount(output), output],
    ['Cost', prices ? money(costOf(usage, prices)) : embedded ? none : 'prices unknown'],
  ];
}

/** Plan mode, and the plan. */
function PlanView() {
  const { active, path, text } = plan.value;
  return (
    <>
      <Button
        role="switch"
        aria-checked={active}
        disabled={busy.value}
        onClick={() => void setPlanMode(!active)}
      >
        {active ? 'Plan mode is on: the agent only reads' : 'Plan mode is off'}
      </Button>
      {text !== undefined && (
        <Fold id="plan-text" line={<span class="clip">{path}</span>}>
          {() => <Markdown text={text} />}
        </Fold>
      )}
    </>
  );
}

const statuses = {
  pending: [Circle, 'to do'],
  waiting: [CircleDot, 'waits for approval'],
  running: [CircleDot, 'running'],
  in_progress: [CircleDot, 'doing'],
  completed: [CircleCheck, 'done'],
  failed: [CircleAlert, 'failed'],
  cancelled: [CircleX, 'cancelled'],
} as const;

function StatusIcon({ status }: { readonly status: keyof typeof statuses }) {
  const [Icon, label] = statuses[status];
  return <Icon class="status-icon" size={16} aria-label={label} />;
}

/** What was removed last. Leads to where it happened. */
function LastCompaction() {
  const applied = lastApplied.value;
  const last = lastCompaction.value;
  if (!last)
    return <p class="quiet small">Nothing has been removed: the model sees the whole conversation.</p>;
  return (
    <div class="stack">
      {applied && (
        <CompactionLink compaction={applied} title={`Removed last: ${fatesInWords(applied.manifest)}`}>
          {beforeAndAfter(applied)}
        </CompactionLink>
      )}
      {last !== applied && (
        <CompactionLink compaction={last} title={compactionTitle(last).head}>
          {last.undone ? afterUndo(standing.value.length) : last.detail}
        </CompactionLink>
      )}
    </div>
  );
}

function afterUndo(others: number): string {
  if (others === 0) return 'The model sees the whole conversation again.';
  return others === 1 ? 'An earlier compaction still stands.' : `${others} earlier compactions still stand.`;
}

interface CompactionLinkProps {
  readonly compaction: Compaction;
  readonly title: string;
  readonly children: string;
}

function CompactionLink({ compaction, title, children }: CompactionLinkProps) {
  const isApplied = compaction === lastApplied.value;
  const Icon = isApplied ? Shrink : TriangleAlert;
  return (
    <button type="button" class="last card row" onClick={() => showCompaction(compaction.id)}>
      <Icon class={isApplied ? 'accent' : 'warn'} size={16} aria-hidden="true" />
      <span class="grow">
        <strong>{title}</strong>
        <small class="quiet">{children}</small>
      </span>
    </button>
  );
}
