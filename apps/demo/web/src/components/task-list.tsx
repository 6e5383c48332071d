import './task-list.css';
import { CircleAlert, CircleCheck, CircleDot, CircleX } from 'lucide-preact';
import type { BackgroundTask } from '../../../src/server/transcript.js';
import { work } from '../state/session.js';
import { Fold } from './fold.js';

const faces = {
  pending: { icon: CircleDot, label: 'waits' },
  waiting: { icon: CircleDot, label: 'waits for approval' },
  running: { icon: CircleDot, label: 'running' },
  completed: { icon: CircleCheck, label: 'done' },
  failed: { icon: CircleAlert, label: 'failed' },
  cancelled: { icon: CircleX, label: 'cancelled' },
};

/** What was given to subagents, the latest first. */
export function TaskList() {
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
  const { icon: Icon, label } = faces[task.status];
  const line = (
    <>
      <Icon size={16} aria-hidden="true" class="task-icon" />
      <span class="task-text">{task.task}</span>
      <span class="task-status">{label}</span>
    </>
  );
  return (
    <Fold id={`task-${task.taskId}`} line={line}>
      {() => (
        <div class="task-inside">
          <p>
            {task.subagent}: {task.task}
          </p>
          {task.outcome && <p class="task-outcome">{task.outcome}</p>}
        </div>
      )}
    </Fold>
  );
}
