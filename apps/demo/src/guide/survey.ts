import type { Todo } from '@x/core';
import {
  type AreaStats,
  areas,
  exported,
  type Fact,
  type Figures,
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
import { act, type Decision, say, type View, type Wish } from './view.js';

const ORIENT = 'Orient myself: top level, manifest, README, areas';
const MEASURE = 'Measure the whole: files, lines, kinds, history';
const SURVEY = 'Survey ';
const CONCLUDE = 'Conclude: compare the areas and finish the report';
const MAX_AREAS = 24;

/**
 * Surveys the repository, one todo after the other. The place is in the todos alone, and what a step needs must be in
 * view: what is missing is asked for (again), so that losing the place or the results shows.
 */
export function survey(view: View): Decision {
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
  const missing = unknown(view, [topLevel, manifest, readme, areas]);
  if (missing.length > 0)
    return act(
      'First an overview: the top level, the manifest, the README, the areas.',
      ...missing.slice(0, 2),
    );
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
      .join(', ')}. The whole report is in ${REPORT}.`,
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

const REPORT = 'REPORT.md';

/** Stands where a section will be. Replaced once: a second attempt finds nothing, so a section is never there twice. */
function placeholder(section: string): string {
  return `<!-- survey: ${section} -->`;
}

function skeleton(name: string, about: string, areas: readonly string[]): Wish {
  const sections = ['overview', ...areas, 'conclusions'].map(placeholder);
  const intro = about === '' ? '' : `${about}\n\n`;
  return {
    name: 'write_file',
    input: { path: REPORT, content: `# Survey of ${name}\n\n${intro}${sections.join('\n\n')}\n` },
  };
}

function fill(section: string, text: string): Wish {
  return { name: 'edit_file', input: { path: REPORT, oldText: placeholder(section), newText: text } };
}

function overview(details: {
  readonly totals: { readonly files: number; readonly lines: number };
  readonly kinds: readonly { readonly extension: string; readonly files: number }[];
  readonly history: readonly string[];
}): string {
  const kinds = details.kinds.map(({ extension, files }) => `${extension} ${files}`).join(', ');
  const latest = details.history[0] ? `\n\nLatest commit: ${details.history[0]}` : '';
  return `## Overview\n\nThe repository has ${details.totals.files} files with ${details.totals.lines} lines.\n\nFiles by extension: ${kinds}.${latest}`;
}

function areaSection(details: {
  readonly area: string;
  readonly about: string;
  readonly stats: AreaStats;
  readonly entries: readonly string[];
  readonly exports: number;
  readonly open: number;
}): string {
  const { area, about, stats, entries, exports, open } = details;
  return [
    `## ${area}`,
    ...(about === '' ? [] : [about]),
    `Figures for ${area}: ${stats.files} files, ${stats.lines} lines, ${stats.tests} test files, ${exports} exports, ${open} open TODOs.`,
    `Largest file: ${stats.largest} (${stats.largestLines} lines). Top entries: ${entries.slice(0, 12).join(', ')}.`,
  ].join('\n\n');
}

function conclusions(sections: readonly Figures[]): string {
  const byLines = [...sections].sort((left, right) => right.lines - left.lines);
  const rows = byLines.map(({ area, files, lines }) => `| ${area} | ${files} | ${lines} |`);
  const [largest] = byLines;
  const remark = largest ? `The largest area is ${largest.area} with ${largest.lines} lines.\n\n` : '';
  return `## Conclusions\n\n${remark}| area | files | lines |\n| --- | ---: | ---: |\n${rows.join('\n')}`;
}
