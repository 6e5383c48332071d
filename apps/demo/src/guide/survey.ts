import type { Todo } from '@x/core';
import {
  areas,
  exported,
  type Fact,
  kinds,
  known,
  latestCommit,
  leftOpen,
  listing,
  name,
  opening,
  purpose,
  readme,
  stats,
  topLevel,
  totals,
  written,
} from './facts.js';
import { act, type Decision, say, type View, type Wish } from './view.js';

const ORIENT = 'Orient myself: top level, manifest, README, areas';
const MEASURE = 'Measure the whole: files, lines, kinds, history';
const SURVEY = 'Survey ';
const CONCLUDE = 'Conclude: compare the areas and finish the report';
const MAX_AREAS = 24;
const REPORT = 'REPORT.md';

/**
 * Surveys the repository, one todo after the other. It keeps its place in the todos alone, and asks again for what it no longer has in
 * view, so that it shows when a compaction loses the place or the results.
 */
export function survey(view: View): Decision {
  const isDone = !isUnfinished(view);
  if (!isOurs(view) || (isDone && view.isFresh)) {
    const todos = [ORIENT, MEASURE, CONCLUDE].map((content): Todo => ({ content, status: 'pending' }));
    return act(
      'I will survey this repository area by area and keep my place in a todo list.',
      todoWrite(advance(todos, '')),
    );
  }
  if (isDone) return finish(view);
  const current = view.todos.find(({ status }) => status !== 'completed')?.content ?? '';
  if (current === ORIENT) return orient(view);
  if (current === MEASURE) return measure(view);
  if (current === CONCLUDE) return conclude(view);
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

function orient(view: View): Decision {
  const missing = unknown(view, [topLevel, name, readme, areas]);
  const looking = 'First an overview: the top level, the manifest, the README, the areas.';
  if (missing.length > 0) return act(looking, ...missing.slice(0, 2));
  const found = (known(view, areas) ?? []).slice(0, MAX_AREAS);
  const title = known(view, name) ?? '';
  const rest = found.map((area): Todo => ({ content: `${SURVEY}${area}`, status: 'pending' }));
  const todos = view.todos.flatMap((todo) => (todo.content === CONCLUDE ? [...rest, todo] : [todo]));
  const sections = ['overview', ...found, 'conclusions'].map(placeholder);
  const content = [`# Survey of ${title}`, known(view, readme), ...sections].filter(Boolean).join('\n\n');
  return act(
    `${title} has ${found.length} areas worth a look: ${found.join(', ')}.`,
    { name: 'write_file', input: { path: REPORT, content: `${content}\n` } },
    todoWrite(advance(todos, ORIENT)),
  );
}

function measure(view: View): Decision {
  const missing = unknown(view, [totals, kinds, latestCommit]);
  if (missing.length > 0) return act('Measuring the whole.', ...missing.slice(0, 1));
  const [whole, latest] = [`The repository has ${known(view, totals)}.`, known(view, latestCommit)];
  const section = ['## Overview', whole, `Files by extension: ${known(view, kinds)}.`];
  if (latest) section.push(`Latest commit: ${latest}`);
  return act(whole, fill('overview', section), todoWrite(advance(view.todos, MEASURE)));
}

function surveyArea(view: View, area: string): Decision {
  const [figures, entries] = [known(view, stats(area)), known(view, listing(area))];
  if (!figures || !entries) {
    return act(`Looking at ${area}.`, ...unknown(view, [stats(area), listing(area)]));
  }
  const { files, lines, tests, largest, largestLines } = figures;
  const about = ['README.md', 'package.json'].find((file) => entries.includes(file));
  const details: Fact<unknown>[] = [exported(area), leftOpen(area)];
  if (about) details.unshift(purpose(area, about));
  if (largest) details.push(opening(largest));
  const missing = unknown(view, details);
  if (missing.length > 0)
    return act(`${area}: ${files} files, ${lines} lines. Reading on.`, ...missing.slice(0, 2));
  const section = [
    `## ${area}`,
    about && known(view, purpose(area, about)),
    `Figures for ${area}: ${files} files, ${lines} lines, ${tests} test files, ${known(view, exported(area))} exports, ${known(view, leftOpen(area))} open TODOs.`,
    `Largest file: ${largest} (${largestLines} lines). Top entries: ${entries.slice(0, 12).join(', ')}.`,
  ];
  return act(`${area} is surveyed.`, fill(area, section), todoWrite(advance(view.todos, `${SURVEY}${area}`)));
}

function conclude(view: View): Decision {
  const sections = known(view, written);
  if (!sections) return act('Comparing the areas.', written.wish);
  const [largest] = sections;
  const rows = sections.map(({ area, files, lines }) => `| ${area} | ${files} | ${lines} |`);
  const text = [
    '## Conclusions',
    largest && `The largest area is ${largest.area} with ${largest.lines} lines.`,
    ['| area | files | lines |', '| --- | ---: | ---: |', ...rows].join('\n'),
  ];
  return act('Writing the conclusions.', fill('conclusions', text), todoWrite(advance(view.todos, CONCLUDE)));
}

function finish(view: View): Decision {
  const sections = known(view, written);
  if (!sections) return act('Checking the report once more.', written.wish);
  const lines = sections.reduce((sum, section) => sum + section.lines, 0);
  const largest = sections.slice(0, 3).map((section) => `${section.area} (${section.lines})`);
  return say(
    `The survey is done: ${sections.length} areas with ${lines} lines, the largest being ${largest.join(', ')}. The whole report is in ${REPORT}.`,
  );
}

function unknown(view: View, facts: readonly Fact<unknown>[]): readonly Wish[] {
  return facts.filter((fact) => known(view, fact) === undefined).map((fact) => fact.wish);
}

function todoWrite(todos: readonly Todo[]): Wish {
  return { name: 'todo_write', input: { todos: todos.map((todo) => ({ ...todo })) } };
}

/** The list with `done` completed and the next item begun. */
function advance(todos: readonly Todo[], done: string): readonly Todo[] {
  const next = todos.findIndex(({ content, status }) => status !== 'completed' && content !== done);
  return todos.map((todo, index) => {
    if (todo.content === done) return { ...todo, status: 'completed' };
    return index === next ? { ...todo, status: 'in_progress' } : todo;
  });
}

/** Marks the place of a section. It is replaced once: a second attempt finds nothing, so no section is there twice. */
function placeholder(section: string): string {
  return `<!-- survey: ${section} -->`;
}

function fill(section: string, parts: readonly (string | undefined)[]): Wish {
  const newText = parts.filter(Boolean).join('\n\n');
  return { name: 'edit_file', input: { path: REPORT, oldText: placeholder(section), newText } };
}
