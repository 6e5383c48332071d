import type { Todo } from '@x/core';
import {
  type AreaStats,
  areas,
  exported,
  type Fact,
  known,
  leftOpen,
  name,
  opening,
  purpose,
  readme,
  readmeOf,
  stats,
  topLevel,
  totals,
  written,
} from './facts.js';
import { act, type Decision, say, type View, type Wish } from './view.js';

const ORIENT = 'Orient myself: top level, manifest, README, areas';
const MEASURE = 'Measure the whole: files and lines';
const SURVEY = 'Survey ';
const CONCLUDE = 'Conclude: compare the areas and finish the report';
const MAX_AREAS = 24;
const REPORT = 'REPORT.md';

/**
 * Surveys the repository, one todo after the other. It keeps its place in the todos, and says in one line what it finds. After a
 * compaction it goes on from these lines, which the record quotes, and asks again only for what it finds in neither place.
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
  const whole = known(view, totals);
  if (whole === undefined) return act('Measuring the whole.', totals.wish);
  const text = `The repository has ${whole}.`;
  return act(text, fill('overview', ['## Overview', text]), todoWrite(advance(view.todos, MEASURE)));
}

/** What the guide says of an area once it has its figures, and reads again from the record. */
const FIGURES = ': (\\d+) files, (\\d+) lines, (\\d+) tests, largest (.*) with (\\d+)(?:, see (\\S+))?\\.';
const PURPOSE = ': (\\d+) exports\\.(?: (.+))?';

interface AreaFigures extends AreaStats {
  /** The file that says what the area is for; empty where there is none. */
  readonly about: string;
}

function figuresOf(view: View, area: string): AreaFigures | undefined {
  const [found, about] = [known(view, stats(area)), known(view, readmeOf(area))];
  if (found && about !== undefined) return { ...found, about };
  const match = stated(view, area, FIGURES)?.match;
  if (!match) return undefined;
  const [files = 0, lines = 0, tests = 0, , largestLines = 0] = match.slice(1, 6).map(Number);
  return { files, lines, tests, largestLines, largest: match[4] ?? '', about: match[6] ?? '' };
}

function purposeOf(
  view: View,
  area: string,
  about: string,
): { readonly exports: number; readonly text: string } | undefined {
  const exports = known(view, exported(area));
  const text = about ? known(view, purpose(area, about)) : '';
  if (exports !== undefined && text !== undefined) return { exports, text };
  const match = stated(view, area, PURPOSE)?.match;
  return match && { exports: Number(match[1]), text: match[2] ?? '' };
}

/** The last statement about an area that fits a pattern. */
function stated(view: View, area: string, pattern: string) {
  const names = new RegExp(`(?:^|\\s)${literal(area)}${pattern}`);
  for (const { text, isRecord } of view.said.toReversed()) {
    const match = names.exec(text);
    if (match) return { match, isRecord };
  }
  return undefined;
}

/** A text as a regular expression that matches it alone. */
function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function surveyArea(view: View, area: string): Decision {
  const figures = figuresOf(view, area);
  // The record names the call, and not what the guide found by it.
  const recall: Wish = { name: 'recall', input: { query: `${area} files, lines, tests, largest` } };
  const isBegun = new RegExp(`list_files repo/${literal(area)}(?![\\w/.-])`).test(view.record);
  if (!figures && isBegun && !view.result(recall.name, recall.input))
    return act(`The record says that I began with ${area}. Looking up what I found.`, recall);
  if (!figures) return act(`Looking at ${area}.`, ...unknown(view, [stats(area), readmeOf(area)]));
  const goingOn = `Going on at ${area} from the record.`;
  const isRecorded = [FIGURES, PURPOSE].some((pattern) => stated(view, area, pattern)?.isRecord);
  const isSaid = view.said.some(({ text, isRecord }) => !isRecord && text.includes(goingOn));
  const move = (text: string, ...calls: readonly Wish[]) =>
    act(isRecorded && !isSaid ? `${goingOn} ${text}` : text, ...calls);
  const { files, lines, tests, largest, largestLines, about } = figures;
  const aims = purposeOf(view, area, about);
  if (!aims) {
    const see = about ? `, see ${about}` : '';
    return move(
      `${area}: ${files} files, ${lines} lines, ${tests} tests, largest ${largest} with ${largestLines}${see}.`,
      ...unknown(view, [exported(area), ...(about ? [purpose(area, about)] : [])]),
    );
  }
  const open = known(view, leftOpen(area));
  if (open === undefined) {
    const look = largest ? [opening(largest)] : [];
    return move(
      `${area}: ${aims.exports} exports. ${aims.text}`.trim(),
      ...unknown(view, [leftOpen(area), ...look]),
    );
  }
  const section = [
    `## ${area}`,
    aims.text,
    `Figures for ${area}: ${files} files, ${lines} lines, ${tests} test files, ${aims.exports} exports, ${open} open TODOs.`,
    `Largest file: ${largest} (${largestLines} lines).`,
  ];
  const fact = `${area} has ${files} files with ${lines} lines. ${aims.text}`.trim();
  return move(
    `${area} is surveyed.`,
    fill(area, section),
    todoWrite(advance(view.todos, `${SURVEY}${area}`)),
    { name: 'memory_save', input: { content: fact } },
  );
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
