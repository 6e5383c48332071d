import type { Todo } from '@x/core';
import type { View } from '../view.js';
import { act, type Decision, say, type Wish } from '../view.js';
import {
  areas,
  exported,
  type Fact,
  history,
  kinds,
  known,
  leftOpen,
  listing,
  manifest,
  opening,
  purpose,
  readme,
  stats,
  topLevel,
  totals,
  written,
} from './facts.js';
import { areaSection, conclusions, fill, overview, REPORT, skeleton } from './report.js';

const ORIENT = 'Orient myself: top level, manifest, README, areas';
const MEASURE = 'Measure the whole: files, lines, kinds, history';
const SURVEY = 'Survey ';
const CONCLUDE = 'Conclude: compare the areas and finish the report';
const ANSWER = 'Answer: ';
const MAX_AREAS = 24;
/** Characters of what is said during a survey that its todo has. */
const MAX_ASIDE = 500;

type Respond = (view: View) => Decision;

/**
 * Surveys the repository, one todo after the other. The place is in the todos alone, and what a step needs must be in
 * view: what is missing is asked for (again), so that losing the place or the results shows.
 */
export function survey(view: View, respond: Respond): Decision {
  const todos = view.todos;
  const isDone = !isUnfinished(view);
  if (!isOurs(view) || (isDone && view.isFresh)) {
    return act(
      'I will survey this repository area by area and keep my place in a todo list.',
      todoWrite(start([ORIENT, MEASURE, CONCLUDE])),
    );
  }
  if (isDone) return finish(view);
  const current = todos.find(({ status }) => status !== 'completed')?.content ?? '';
  if (current === ORIENT) return orient(view);
  if (current === MEASURE) return measure(view);
  if (current === CONCLUDE) return conclude(view);
  if (current.startsWith(ANSWER)) return answerAside(view, current, respond);
  return surveyArea(view, current.slice(SURVEY.length));
}

/** True while a survey was begun and not ended. */
export function isUnfinished(view: View): boolean {
  return isOurs(view) && view.todos.some(({ status }) => status !== 'completed');
}

/** True when the todo list is that of a survey. */
export function isOurs({ todos }: View): boolean {
  return todos.some(({ content }) => content === ORIENT);
}

/** Responds to a request; what was said during a survey becomes a todo of it, and the survey goes on after it. */
export function interject(view: View, respond: Respond): Decision {
  const content = `${ANSWER}${view.request.replace(/\s+/g, ' ').slice(0, MAX_ASIDE)}`;
  const todo = view.todos.find((other) => other.content === content);
  if (!view.isAmid || !(todo || isUnfinished(view))) return respond(view);
  if (!todo) {
    const others = view.todos.map((other) =>
      other.status === 'in_progress' ? pending(other.content) : other,
    );
    return act('That first.', todoWrite([{ content, status: 'in_progress' }, ...others]));
  }
  return todo.status === 'completed' ? survey(view, respond) : answerAside(view, content, respond);
}

/** Responds to what a todo says was asked, and completes it. */
function answerAside(view: View, content: string, respond: Respond): Decision {
  const decision = respond({ ...view, request: content.slice(ANSWER.length) });
  if (decision.calls.length > 0) return decision;
  return act(`${decision.text}\n\nI go on with the survey.`, todoWrite(advance(view.todos, content)));
}

function orient(view: View): Decision {
  const missing = unknown(view, [topLevel, manifest, readme, areas]);
  if (missing.length > 0) return act('First the lie of the land.', ...missing.slice(0, 2));
  const found = (known(view, areas) ?? []).slice(0, MAX_AREAS);
  const name = known(view, manifest)?.name ?? 'this repository';
  const rest = found.map((area) => pending(`${SURVEY}${area}`));
  const todos = view.todos.flatMap((todo) => (todo.content === CONCLUDE ? [...rest, todo] : [todo]));
  return act(
    `${name} has ${found.length} areas worth a look: ${found.join(', ')}.`,
    skeleton(name, known(view, readme) ?? '', found),
    todoWrite(advance(todos, ORIENT)),
  );
}

function measure(view: View): Decision {
  const missing = unknown(view, [totals, kinds, history]);
  if (missing.length > 0) return act('Measuring the whole.', ...missing.slice(0, 1));
  const all = known(view, totals) ?? { files: 0, lines: 0 };
  return act(
    `The repository has ${all.files} files with ${all.lines} lines.`,
    fill(
      'overview',
      overview({ totals: all, kinds: known(view, kinds) ?? [], history: known(view, history) ?? [] }),
    ),
    todoWrite(advance(view.todos, MEASURE)),
  );
}

function surveyArea(view: View, area: string): Decision {
  const [figures, entries] = [known(view, stats(area)), known(view, listing(area))];
  if (!figures || !entries) {
    return act(`Looking at ${area}.`, ...unknown(view, [stats(area), listing(area)]));
  }
  const about = ['README.md', 'package.json'].find((file) => entries.includes(file));
  const details: Fact<unknown>[] = [exported(area), leftOpen(area)];
  if (about) details.unshift(purpose(area, about));
  if (figures.largest) details.push(opening(figures.largest));
  const missing = unknown(view, details);
  if (missing.length > 0) {
    return act(
      `${area}: ${figures.files} files, ${figures.lines} lines. Reading on.`,
      ...missing.slice(0, 2),
    );
  }
  const section = areaSection({
    area,
    about: about ? (known(view, purpose(area, about)) ?? '') : '',
    stats: figures,
    entries,
    exports: known(view, exported(area)) ?? 0,
    open: known(view, leftOpen(area)) ?? 0,
  });
  return act(`${area} is surveyed.`, fill(area, section), todoWrite(advance(view.todos, `${SURVEY}${area}`)));
}

function conclude(view: View): Decision {
  const sections = known(view, written);
  if (!sections) return act('Comparing the areas.', written.wish);
  return act(
    'Writing the conclusions.',
    fill('conclusions', conclusions(sections)),
    todoWrite(advance(view.todos, CONCLUDE)),
  );
}

function finish(view: View): Decision {
  const sections = known(view, written);
  if (!sections) return act('Checking the report once more.', written.wish);
  const lines = sections.reduce((sum, section) => sum + section.lines, 0);
  const largest = [...sections].sort((left, right) => right.lines - left.lines).slice(0, 3);
  return say(
    `The survey is done: ${sections.length} areas with ${lines} lines, the largest being ${largest
      .map((section) => `${section.area} (${section.lines})`)
      .join(', ')}. The whole report is in ${REPORT}; ask me about any area.`,
  );
}

function unknown(view: View, facts: readonly Fact<unknown>[]): readonly Wish[] {
  return facts.filter((fact) => known(view, fact) === undefined).map((fact) => fact.wish);
}

function todoWrite(todos: readonly Todo[]): Wish {
  return { name: 'todo_write', input: { todos: todos.map((todo) => ({ ...todo })) } };
}

function pending(content: string): Todo {
  return { content, status: 'pending' };
}

function start(contents: readonly string[]): readonly Todo[] {
  return contents.map((content, index) => ({ content, status: index === 0 ? 'in_progress' : 'pending' }));
}

/** The list with `done` completed and the next item begun. */
function advance(todos: readonly Todo[], done: string): readonly Todo[] {
  const next = todos.findIndex(({ content, status }) => status !== 'completed' && content !== done);
  return todos.map((todo, index) => {
    if (todo.content === done) return { ...todo, status: 'completed' };
    return index === next ? { ...todo, status: 'in_progress' } : todo;
  });
}
