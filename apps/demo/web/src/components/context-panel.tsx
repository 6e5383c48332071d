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
import type { ComponentChildren } from 'preact';
import { costOf, exactCount, money, plural, share, shortCount, size } from '../lib/format.js';
import {
  busy,
  context,
  files,
  info,
  lastApplied,
  loadFiles,
  phase,
  places,
  setPlanMode,
  state,
  transcript,
} from '../state/session.js';
import { showCompaction } from '../state/show-message.js';
import { afterUndo, type Compaction, fatesInWords } from '../state/transcript.js';
import { fileAddress, inspect, sheetOpen, toggleInspector, view } from '../state/view.js';
import { beforeAndAfter, compactionTitle } from './compaction.js';
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
  const { todos, tasks } = state.value;
  const done = todos.filter((todo) => todo.status === 'completed').length;
  return (
    <aside class="column panel" aria-label="Context">
      <header class="column-header row">
        <h2 class="heading grow">Context</h2>
        {places.value.length > 0 && (
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
            <Section title="Tokens per request">
              <WindowChart width={328} height={96} onPick={inspect} />
            </Section>
            <Section title="Cost and cache">
              <Costs />
            </Section>
          </>
        )}
        {todos.length > 0 && (
          <List title="Todos" figure={`${done} of ${todos.length}`}>
            {todos.map(({ content, status }, index) => (
              <li key={index} class="row" data-status={status}>
                <StatusIcon status={status} />
                <span>{content}</span>
              </li>
            ))}
          </List>
        )}
        {phase.value === 'ready' && info.value?.plans && <Plan />}
        {tasks.length > 0 && (
          <List title="Background tasks" figure={plural(tasks.length, 'task')}>
            {tasks.toReversed().map(({ taskId, subagent, task, status, outcome }) => (
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
                    <p>
                      {subagent}: {task}
                      <br />
                      <span class="quiet">{outcome}</span>
                    </p>
                  )}
                </Fold>
              </li>
            ))}
          </List>
        )}
        {files.value.length > 0 && (
          <List title="Files" figure={plural(files.value.length, 'file')}>
            {files.value.map(({ path, size: bytes }) => (
              <li key={path} class="row">
                <a class="clip" href={fileAddress(path)} onClick={() => (sheetOpen.value = false)}>
                  {path}
                </a>
                <span class="figure">{size(bytes)}</span>
              </li>
            ))}
          </List>
        )}
      </div>
    </aside>
  );
}

function List({
  title,
  figure,
  children,
}: {
  readonly title: string;
  readonly figure: string;
  readonly children: ComponentChildren;
}) {
  return (
    <Section title={title} figure={figure}>
      <ul class="panel-list small">{children}</ul>
    </Section>
  );
}

/** What the session has taken so far, and what compaction saved. */
function Costs() {
  const { usage, modelCalls, savings } = transcript.value;
  const { inputTokens: input, outputTokens: output, cachedInputTokens: cached = 0 } = usage;
  const { embedded, prices } = info.value?.model ?? {};
  const none = 'none: no LLM';
  const fromCache = embedded && cached === 0 ? none : `${shortCount(cached)} · ${share(cached, input)}`;
  const saved = savings.unreduced - savings.sent;
  const rows: readonly (readonly [name: string, figure: string, exact?: number])[] = [
    ['Model calls', exactCount(modelCalls)],
    ['Tokens in', shortCount(input), input],
    ['of them from the cache', fromCache, cached],
    ['Tokens out', shortCount(output), output],
    ['Saved by compaction', `${shortCount(saved)} · ${share(saved, savings.unreduced)}`, saved],
    ['Cost', prices ? money(costOf(usage, prices)) : embedded ? none : 'prices unknown'],
  ];
  return (
    <dl class="figures">
      {rows.map(([name, figure, exact]) => (
        <div key={name} title={exact === undefined ? undefined : `${exactCount(exact)} tokens`}>
          <dt>{name}</dt>
          <dd>{figure}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Plan mode, and the plan. */
function Plan() {
  const { active, path, text } = state.value.plan;
  return (
    <Section title="Plan">
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
    </Section>
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
  const last = transcript.value.compactions.at(-1);
  if (!last)
    return <p class="quiet small">Nothing has been removed: the model sees the whole conversation.</p>;
  return (
    <div class="stack">
      {applied && (
        <CompactionLink compaction={applied} title={`Last compaction: ${fatesInWords(applied.manifest)}`}>
          {beforeAndAfter(applied)}
        </CompactionLink>
      )}
      {last !== applied && (
        <CompactionLink compaction={last} title={compactionTitle(last).head}>
          {last.undone ? afterUndo(transcript.value) : last.detail || 'Nothing was changed.'}
        </CompactionLink>
      )}
    </div>
  );
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
