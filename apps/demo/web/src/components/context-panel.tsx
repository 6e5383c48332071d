import './context-panel.css';
import { ScanSearch } from 'lucide-preact';
import { plural } from '../lib/format.js';
import { info } from '../state/info.js';
import { toggleInspector, view } from '../state/route.js';
import { context, phase, timeline, todos, work } from '../state/session.js';
import { sheetOpen } from '../state/view.js';
import { CostFigures } from './cost-figures.js';
import { Gauge } from './gauge.js';
import { LastCompaction } from './last-compaction.js';
import { Legend } from './legend.js';
import { PanelSection } from './panel-section.js';
import { PlanView } from './plan-view.js';
import { SetupFacts } from './setup-facts.js';
import { TaskList } from './task-list.js';
import { Timeline } from './timeline.js';
import { TodoList } from './todo-list.js';

/** What the model sees now, what was removed last, and what it cost. */
export function ContextPanel() {
  const done = todos.value.filter((todo) => todo.status === 'completed').length;
  return (
    <aside class="panel" aria-label="Context">
      <header class="column-header">
        <h2>Context</h2>
        {timeline.value.length > 0 && (
          <button
            type="button"
            class="button panel-inspect"
            aria-pressed={view.value === 'inspect'}
            title="Inspector (i)"
            onClick={() => {
              sheetOpen.value = false;
              toggleInspector();
            }}
          >
            <ScanSearch size={16} aria-hidden="true" /> Inspect
          </button>
        )}
      </header>
      <div class="panel-content">
        <Gauge />
        {context.value && (
          <>
            <LastCompaction />
            <PanelSection title="What fills the window">
              <Legend />
            </PanelSection>
            <PanelSection title="Tokens per step">
              <Timeline />
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
        {phase.value === 'ready' && info.value?.abilities.plan && (
          <PanelSection title="Plan">
            <PlanView />
          </PanelSection>
        )}
        {work.value.tasks.length > 0 && (
          <PanelSection title="Background tasks" figure={plural(work.value.tasks.length, 'task')}>
            <TaskList />
          </PanelSection>
        )}
        <PanelSection title="Set-up">
          <SetupFacts />
        </PanelSection>
      </div>
    </aside>
  );
}
