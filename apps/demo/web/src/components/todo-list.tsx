import './todo-list.css';
import { Circle, CircleCheck, CircleDot } from 'lucide-preact';
import { todos } from '../state/session.js';

const faces = {
  pending: { icon: Circle, label: 'To do' },
  in_progress: { icon: CircleDot, label: 'Doing' },
  completed: { icon: CircleCheck, label: 'Done' },
};

/** What the agent has set out to do. Compactions never touch it. */
export function TodoList() {
  return (
    <ul class="todos">
      {todos.value.map((todo, index) => {
        const { icon: Icon, label } = faces[todo.status];
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
