import type { Todo } from '@x/core';
import {
  type AreaStats,
  areas,
  type Fact,
  freeReport,
  known,
  name,
  opening,
  purpose,
  readme,
  readmeOf,
  stats,
  topLevel,
  totals,
  wholeLines,
  written,
} from './facts.js';
import { act, type Decision, say, type View, type Wish } from './view.js';

const ORIENT = 'Orient myself: top level, manifest, README, areas, size';
const SURVEY = 'Survey ';
const CONCLUDE = 'Conclude: compare the areas and finish ';
const MAX_AREAS = 24;

/**
 * Surveys the repository, one todo after the other. It tracks its progress in the todos, and states each finding in one line. After a
 * compaction it continues from these lines, which the record quotes, and repeats only calls whose findings are in neither place.
 */
export function survey(view: View): Decision {
  const isDone = !isUnfinished(view);
  if (!isOurs(view) || (isDone && view.isFresh)) {
    const todos = [ORIENT, `${CONCLUDE}the report`].map((content): Todo => ({ content, status: 'pending' }));
    return act(
      'I will survey this repository area by area and keep my place in a todo list.',
      todoWrite(advance(todos, '')),
    );
  }
  if (isDone) return finish(view);
  const current = view.todos.find(({ status }) => status !== 'completed')?.content ?? '';
  if (current === ORIENT) return orient(view);
  if (current.startsWith(CONCLUDE)) return conclude(view, current);
  return surveyArea(view, current.slice(SURVEY.length));
}

/** Whether a survey has begun and is not finished. */
export function isUnfinished(view: View): boolean {
  return isOurs(view) && view.todos.some(({ status }) => status !== 'completed');
}

/** Whether the todo list belongs to a survey. */
export function isOurs({ todos }: View): boolean {
  return todos.some(({ content }) => content === ORIENT);
}

/** The file of the report. The last todo names it, because the todos outlast every compaction. */
function reportOf({ todos }: View): string {
  const last = todos.at(-1)?.content ?? '';
  return last.startsWith(`${CONCLUDE}REPORT`) ? last.slice(CONCLUDE.length) : 'REPORT.md';
}

function orient(view: View): Decision {
  const missing = unknown(view, [topLevel, name, readme, areas, totals, freeReport]);
  const overview =
    'First an overview: the top level, the manifest, the README, the areas, all files and lines.';
  const isSaid = view.said.some(({ text }) => text.includes(overview));
  if (missing.length > 0) return act(isSaid ? '' : overview, ...missing.slice(0, 2));
  const found = (known(view, areas) ?? []).slice(0, MAX_AREAS);
  const title = known(view, name) ?? '';
  const rest = found.map((area): Todo => ({ content: `${SURVEY}${area}`, status: 'pending' }));
  const report = known(view, freeReport) ?? '';
  const conclusion: Todo = { content: `${CONCLUDE}${report}`, status: 'pending' };
  const todos = [...view.todos.slice(0, -1), ...rest, conclusion];
  const parts = [
    `# Survey of ${title}`,
    known(view, readme),
    `The repository has ${known(view, totals)}.`,
    ...[...found, 'conclusions'].map(placeholder),
  ];
  return act(
    `${title} has ${found.length} areas worth a look: ${found.join(', ')}.`,
    { name: 'write_file', input: { path: report, content: `${parts.filter(Boolean).join('\n\n')}\n` } },
    todoWrite(advance(todos, ORIENT)),
  );
}

/** Matches the guide's statement of an area's figures. The guide also reads it back from the record. */
const FIGURES =
  ': (\\d+) files, (\\d+) lines, (\\d+) tests, (\\d+) exports, largest (.*) with (\\d+)(?:, see (\\S+))?\\.';

interface AreaFigures extends AreaStats {
  /** The file that describes the area; empty if there is none. */
  readonly about: string;
}

function figuresOf(view: View, area: string): AreaFigures | undefined {
  const [found, about] = [known(view, stats(area)), known(view, readmeOf(area))];
  if (found && about !== undefined) return { ...found, about };
  const match = stated(view, area)?.match;
  if (!match) return undefined;
  const [files = 0, lines = 0, tests = 0, exports = 0, , largestLines = 0] = match.slice(1, 7).map(Number);
  return { files, lines, tests, exports, largestLines, largest: match[5] ?? '', about: match[7] ?? '' };
}

/** Returns the last statement of an area's figures. */
function stated(view: View, area: string) {
  const names = new RegExp(`(?:^|\\s)${literal(area)}${FIGURES}`);
  for (const { text, isRecord } of view.said.toReversed()) {
    const match = names.exec(text);
    if (match) return { match, isRecord };
  }
  return undefined;
}

/** Escapes a text for use in a regular expression. */
function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function surveyArea(view: View, area: string): Decision {
  const figures = figuresOf(view, area);
  // The record mentions the call, but not its result.
  const recall: Wish = { name: 'recall', input: { query: `${area} files, lines, tests, exports, largest` } };
  const isBegun = new RegExp(`list_files repo/${literal(area)}(?![\\w/.-])`).test(view.record);
  if (!figures && isBegun && !view.result(recall.name, recall.input))
    return act(`The record says that I began with ${area}. Looking up what I found.`, recall);
  if (!figures) return act(`Looking at ${area}.`, ...unknown(view, [stats(area), readmeOf(area)]));
  const goingOn = `Going on at ${area} from the record.`;
  const isSaid = view.said.some(({ text, isRecord }) => !isRecord && text.includes(goingOn));
  const move = (text: string, ...calls: readonly Wish[]) =>
    act(stated(view, area)?.isRecord && !isSaid ? `${goingOn} ${text}` : text, ...calls);
  const { files, lines, tests, exports, largest, largestLines, about } = figures;
  const aim = purpose(area, about);
  const looks = unknown(view, [...(about ? [aim] : []), ...(largest ? [opening(largest)] : [])]);
  const see = about ? `, see ${about}` : '';
  const counted = `${files} files, ${lines} lines, ${tests} tests, ${exports} exports`;
  if (looks.length > 0)
    return move(`${area}: ${counted}, largest ${largest} with ${largestLines}${see}.`, ...looks);
  const text = about ? known(view, aim) : '';
  const section = [
    `## ${area}`,
    text,
    `Figures for ${area}: ${counted}.`,
    `Largest file: ${largest} (${largestLines} lines).`,
  ];
  const fact = `${area} has ${files} files with ${lines} lines. ${text}`.trim();
  return move(
    `${area} is surveyed.`,
    fill(view, area, section),
    todoWrite(advance(view.todos, `${SURVEY}${area}`)),
    { name: 'memory_save', input: { content: fact } },
  );
}

function conclude(view: View, todo: string): Decision {
  const facts = written(reportOf(view));
  const sections = known(view, facts);
  if (!sections) return act('Comparing the areas.', facts.wish);
  const [largest] = sections;
  const rows = sections.map(({ area, files, lines }) => `| ${area} | ${files} | ${lines} |`);
  const text = [
    '## Conclusions',
    largest && `The largest area is ${largest.area} with ${largest.lines} lines.`,
    ['| area | files | lines |', '| --- | ---: | ---: |', ...rows].join('\n'),
  ];
  return act(
    'Writing the conclusions.',
    fill(view, 'conclusions', text),
    todoWrite(advance(view.todos, todo)),
  );
}

/** Concludes a survey whose todos are all completed. */
export function finish(view: View): Decision {
  const report = reportOf(view);
  const sections = known(view, written(report));
  if (!sections) return act('Checking the report once more.', written(report).wish);
  const lines = sections.reduce((sum, section) => sum + section.lines, 0);
  const largest = sections.slice(0, 3).map((section) => `${section.area} (${section.lines})`);
  return say(
    `The survey is done: ${sections.length} areas with ${lines} lines, of ${known(view, wholeLines(report))} in the repository. The largest are ${largest.join(', ')}. The whole report is in \`${report}\`.`,
  );
}

function unknown(view: View, facts: readonly Fact<unknown>[]): readonly Wish[] {
  return facts.filter((fact) => known(view, fact) === undefined).map((fact) => fact.wish);
}

function todoWrite(todos: readonly Todo[]): Wish {
  return { name: 'todo_write', input: { todos: todos.map((todo) => ({ ...todo })) } };
}

/** Completes the item `done` and starts the next one. */
function advance(todos: readonly Todo[], done: string): readonly Todo[] {
  const next = todos.findIndex(({ content, status }) => status !== 'completed' && content !== done);
  return todos.map((todo, index) => {
    if (todo.content === done) return { ...todo, status: 'completed' };
    return index === next ? { ...todo, status: 'in_progress' } : todo;
  });
}

/** Marks the place of a section. It is replaced once, so that a second attempt cannot add the section twice. */
function placeholder(section: string): string {
  return `<!-- survey: ${section} -->`;
}

function fill(view: View, section: string, parts: readonly (string | undefined)[]): Wish {
  const newText = parts.filter(Boolean).join('\n\n');
  return { name: 'edit_file', input: { path: reportOf(view), oldText: placeholder(section), newText } };
}
