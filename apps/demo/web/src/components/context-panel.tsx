import { useSignalEffect } from '@preact/signals';
import './context-panel.css';
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
import type { BackgroundTask } from '../../../src/server/transcript.js';
import { WindowChart } from '../charts/window-chart.js';
import { compactionTitle, fatesInWords } from '../lib/compaction-words.js';
import { costOf, exactCount, money, plural, share, shortCount, size } from '../lib/format.js';
import { lastApplied, lastCompaction } from '../state/blocks.js';
import { info, modelLine } from '../state/info.js';
import { fileAddress, toggleInspector, view } from '../state/route.js';
import { busy, context, phase, setPlanMode, timeline, todos, totals, work } from '../state/session.js';
import { files, loadFiles } from '../state/sessions.js';
import { showCompaction } from '../state/show-message.js';
import { lookedAt, sheetOpen } from '../state/view.js';
import { Button } from './button.js';
import { Fold } from './fold.js';
import { Gauge, Legend } from './gauge.js';
import { Markdown } from './markdown.js';

/** What the model sees now, what was removed last, and what it cost. */
export function ContextPanel() {
  useSignalEffect(() => {
    // Written while the agent worked.
    if (!busy.value) void loadFiles();
  });
  const done = todos.value.filter((todo) => todo.status === 'completed').length;
  return (
    <aside class="column panel" aria-label="Context">
      <header class="column-header row">
        <h2 class="heading grow">Context</h2>
        {timeline.value.length > 0 && (
          <Button
            class="panel-inspect"
            aria-pressed={view.value === 'inspect'}
            title="Inspector (i)"
            onClick={() => {
              sheetOpen.value = false;
              toggleInspector();
            }}
          >
            <ScanSearch size={16} aria-hidden="true" /> Inspect
          </Button>
        )}
      </header>
      <div class="panel-content scrolls">
        <Gauge />
        {context.value && (
          <>
            <LastCompaction />
            <PanelSection title="What fills the window">
              <Legend />
            </PanelSection>
            <PanelSection title="Tokens per step">
              <WindowChart
                width={328}
                height={96}
                onPick={(step) => {
                  lookedAt.value = step;
                  if (view.peek() !== 'inspect') toggleInspector();
                }}
              />
            </PanelSection>
            <PanelSection title="Cost and cache">
              <CostFigures />
            </PanelSection>
          </>
        )}
        {todos.value.length > 0 && (
          <PanelSection title="Todos" figure={`${done} of ${todos.value.length}`}>
            <TodoList />
          </PanelSection>
        )}
        {phase.value === 'ready' && info.value?.plans && (
          <PanelSection title="Plan">
            <PlanView />
          </PanelSection>
        )}
        {work.value.tasks.length > 0 && (
          <PanelSection title="Background tasks" figure={plural(work.value.tasks.length, 'task')}>
            <TaskList />
          </PanelSection>
        )}
        {files.value.length > 0 && (
          <PanelSection title="Files" figure={plural(files.value.length, 'file')}>
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
          </PanelSection>
        )}
        <PanelSection title="Set-up">
          <SetupFacts />
        </PanelSection>
      </div>
    </aside>
  );
}

interface PanelSectionProps {
  readonly title: string;
  readonly figure?: string;
  readonly children: ComponentChildren;
}

/** A titled part of the panel. */
function PanelSection({ title, figure, children }: PanelSectionProps) {
  return (
    <section class="panel-section" aria-label={title}>
      <h3 class="row heading">
        {title}
        {figure && <span class="quiet small">{figure}</span>}
      </h3>
      {children}
    </section>
  );
}

/** What the session has taken so far. */
function CostFigures() {
  const { usage, modelCalls } = totals.value;
  const cached = usage.cachedInputTokens ?? 0;
  const model = info.value?.model;
  const unpriced = model?.embedded ? 'none: no LLM' : 'prices unknown';
  return (
    <Facts
      rows={[
        ['Model calls', exactCount(modelCalls)],
        ['Tokens in', shortCount(usage.inputTokens), usage.inputTokens],
        model?.embedded && cached === 0
          ? ['of them from the cache', 'none: no LLM']
          : ['of them from the cache', `${shortCount(cached)} · ${share(cached, usage.inputTokens)}`, cached],
        ['Tokens out', shortCount(usage.outputTokens), usage.outputTokens],
        ['Cost', model?.prices ? money(costOf(usage, model.prices)) : unpriced],
      ]}
    />
  );
}

interface FactsProps {
  /** Name and figure, and the exact number of tokens behind it. */
  readonly rows: readonly (readonly [name: string, figure: string, tokens?: number])[];
}

function Facts({ rows }: FactsProps) {
  return (
    <dl class="figures">
      {rows.map(([name, figure, tokens]) => (
        <div key={name} title={tokens === undefined ? undefined : `${exactCount(tokens)} tokens`}>
          <dt>{name}</dt>
          <dd>{figure}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Which model, how large its window, when and how it compacts. */
function SetupFacts() {
  const backend = info.value;
  if (!backend) return null;
  const { contextWindow, triggerTokens, storage, version } = backend;
  return (
    <Facts
      rows={[
        ['Model', modelLine.value],
        ['Window', `${shortCount(contextWindow)} tokens`, contextWindow],
        ['Compacts at', triggerTokens > 0 ? `${shortCount(triggerTokens)} tokens` : 'never by itself'],
        ['Storage', storage],
        ['Version', version],
      ]}
    />
  );
}

/** Whether the agent may only read for now, and what it plans. */
function PlanView() {
  const { active, path, text } = work.value.plan;
  return (
    <div class="small">
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
          {() => (
            <div class="plan-text">
              <Markdown text={text} />
            </div>
          )}
        </Fold>
      )}
    </div>
  );
}

const taskFaces = {
  pending: { icon: CircleDot, label: 'waits' },
  waiting: { icon: CircleDot, label: 'waits for approval' },
  running: { icon: CircleDot, label: 'running' },
  completed: { icon: CircleCheck, label: 'done' },
  failed: { icon: CircleAlert, label: 'failed' },
  cancelled: { icon: CircleX, label: 'cancelled' },
};

/** What was given to subagents, the latest first. */
function TaskList() {
  return (
    <ul class="tasks">
      {work.value.tasks.toReversed().map((task) => (
        <li key={task.taskId} data-status={task.status}>
          <TaskItem task={task} />
        </li>
      ))}
    </ul>
  );
}

function TaskItem({ task }: { readonly task: BackgroundTask }) {
  const { icon: Icon, label } = taskFaces[task.status];
  const line = (
    <>
      <Icon size={16} aria-hidden="true" class="task-icon quiet" />
      <span class="clip">{task.task}</span>
      <span class="task-status quiet label">{label}</span>
    </>
  );
  return (
    <Fold id={`task-${task.taskId}`} line={line}>
      {() => (
        <div class="task-inside stack">
          <p>
            {task.subagent}: {task.task}
          </p>
          {task.outcome && <p class="quiet">{task.outcome}</p>}
        </div>
      )}
    </Fold>
  );
}

const todoFaces = {
  pending: { icon: Circle, label: 'To do' },
  in_progress: { icon: CircleDot, label: 'Doing' },
  completed: { icon: CircleCheck, label: 'Done' },
};

/** What the agent has set out to do. Compactions never touch it. */
function TodoList() {
  return (
    <ul class="todos">
      {todos.value.map((todo, index) => {
        const { icon: Icon, label } = todoFaces[todo.status];
        return (
          <li key={index} data-status={todo.status}>
            <Icon size={16} aria-label={label} />
            <span>{todo.content}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** What was removed last, in one glance; leads to where it happened. */
function LastCompaction() {
  const applied = lastApplied.value;
  const last = lastCompaction.value;
  if (!last)
    return <p class="quiet small">Nothing has been removed: the model sees the whole conversation.</p>;
  const show = (id: string) => {
    sheetOpen.value = false;
    showCompaction(id);
  };
  return (
    <div class="stack">
      {applied && (
        <button type="button" class="last" onClick={() => show(applied.id)}>
          <Shrink class="accent" size={16} aria-hidden="true" />
          <span class="grow">
            <strong>Removed last: {fatesInWords(applied.manifest)}</strong>
            <span class="quiet">
              {shortCount(applied.tokensBefore)} → {shortCount(applied.tokensAfter)} tokens
            </span>
          </span>
        </button>
      )}
      {last !== applied && (
        <button type="button" class="last" onClick={() => show(last.id)}>
          <TriangleAlert class="warn" size={16} aria-hidden="true" />
          <span class="grow">
            <strong>{compactionTitle(last).head}</strong>
            <span class="quiet">{last.undone ? 'The model sees everything again.' : last.detail}</span>
          </span>
        </button>
      )}
    </div>
  );
}
