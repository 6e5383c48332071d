import { REPO, stats } from './survey/facts.js';
import { act, type Decision, say, type View, type Wish } from './view.js';

const COMMON = new Set(
  `a about again all am an and any anything are as at be been but by can could did do does file find for found from get
  give had has have how i if in into is it its just know learn look many me more most much my no not now of on one only
  open or other our out please print read say see should show so some tell than that the their them then there these they
  this to two up us use was we were what when where which who why will with would you your`.split(/\s+/),
);
/** As in “where is openSession defined?”. */
const WHERE = /\bwhere\b.*?\b(?:is|are|do|does)\b\s+(?:the\s+|you\s+)?[`"']?([A-Za-z_$][\w$.-]*)/i;
/** A path of the repository in a question about its size. */
const SIZE = /\bhow (?:many|large|big|long)\b.*?([\w.@-]+(?:\/[\w.@-]+)+)/i;
/** As in “show me REPORT.md”. */
const SHOW = /\b(?:show|open|read|print)\b.*?([\w@-][\w./@-]*\.[a-z]\w{0,4})\b/i;
const SEARCHING = 'I no longer see that. Searching';
const MAX_PLACES = 5;
const MAX_LINES = 6;
const LIMIT =
  'I am a rule-based guide, no language model: I can survey this repository, show a file, and quote what was found; I cannot reason about it.';

/**
 * Answers a question: where something is defined, what a file says, how large a directory is, else by quoting the lines of
 * the report and of the session's log that have its words. What was not found is named; what was not looked for is not.
 */
export function answer(view: View): Decision {
  const { request } = view;
  const name = WHERE.exec(request)?.[1];
  if (name !== undefined) return define(view, name);
  const path = SHOW.exec(request)?.[1];
  if (path !== undefined) return show(view, path);
  return lookUp(view);
}

function lookUp(view: View): Decision {
  const words = keywords(view.request);
  if (words.length === 0)
    return say('I did not find a word in that to look for. Try "survey this repository".');
  const wishes: readonly Wish[] = [
    {
      name: 'grep_files',
      input: { pattern: words.map(escapeExpression).join('|'), path: 'REPORT.md', ignoreCase: true },
    },
    { name: 'session_search', input: { query: words.join(' '), limit: 5 } },
  ];
  const found = wishes.map(({ name, input }) => view.result(name, input));
  if (found.every((result) => result === undefined)) {
    for (const { source, text } of view.passages) {
      const lines = bestLines(text, words);
      if (lines.length > 0 && coverage(lines[0] ?? '', words).length === words.length)
        return say(
          `From ${source === 'summary' ? 'the record of' : 'what I still see of'} this conversation:\n\n${quote(lines)}`,
        );
    }
    return act(`${SEARCHING} the report and the log of this session for: ${words.join(', ')}.`, ...wishes);
  }
  const sources = ['REPORT.md', 'the log of this session'];
  for (const [at, result] of found.entries()) {
    const lines = result && !result.isError ? bestLines(withoutMyself(result.text, view.request), words) : [];
    if (lines.length === 0) continue;
    const missing = words.filter((word) => coverage(lines.join(' '), [word]).length === 0);
    const rest = missing.length > 0 ? `\n\nOf ${missing.join(', ')} I have no record there.` : '';
    return say(`${sources[at]} says:\n\n${quote(lines)}${rest}`);
  }
  const area = SIZE.exec(view.request)?.[1]?.replace(/\.+$/, '');
  const measured = area === undefined ? undefined : measure(view, area);
  return (
    measured ??
    say(`I found no line about ${words.join(', ')} in REPORT.md or the log of this session. ${LIMIT}`)
  );
}

function define(view: View, name: string): Decision {
  const symbol = name.replace(/[$.-]/g, '\\$&');
  const pattern = `\\b(?:function|class|const|let|interface|type|def|fn|func|struct|enum) ${symbol}\\b`;
  const wish: Wish = { name: 'grep_files', input: { pattern, path: REPO } };
  const found = view.result(wish.name, wish.input);
  if (found === undefined) return act(`Looking for the definition of ${name}.`, wish);
  const places = found.isError ? [] : found.text.split('\n').filter((line) => /^\S+:\d+: /.test(line));
  if (places.length === 0) return say(`I found no definition of ${name} in this repository.`);
  const list = places.slice(0, MAX_PLACES).map((place) => {
    const [, where = '', line = ''] = /^(\S+:\d+): (.*)$/.exec(place) ?? [];
    return `- \`${where.replace(`${REPO}/`, '')}\`: \`${line}\``;
  });
  return say(`${name} is defined here:\n\n${list.join('\n')}`);
}

/** Shows the beginning of a file: the guide's own, or one of the repository. */
function show(view: View, path: string): Decision {
  const own = path === 'REPORT.md' || path.startsWith(`${REPO}/`) || path.startsWith('notes/');
  const wish: Wish = { name: 'read_file', input: { path: own ? path : `${REPO}/${path}`, limit: 40 } };
  const found = view.result(wish.name, wish.input);
  if (found === undefined) return act(`Reading ${path}.`, wish);
  if (found.isError) return say(`I could not read ${path}: ${found.text}`);
  const where = own ? ' The page has all of it under Files.' : '';
  return say(`${path} begins with this.${where}\n\n${found.text}`);
}

function measure(view: View, area: string): Decision | undefined {
  const fact = stats(area);
  const found = view.result(fact.wish.name, fact.wish.input);
  if (found === undefined) return act(`Measuring ${area}.`, fact.wish);
  const figures = fact.read(found.isError ? '' : found.text);
  if (!figures || figures.files === 0) return undefined;
  return say(
    `${area} has ${figures.files} files with ${figures.lines} lines, ${figures.tests} of them tests. ` +
      `The largest is ${figures.largest} with ${figures.largestLines} lines.`,
  );
}

/** The words of a question that may tell where its answer stands. */
function keywords(question: string): readonly string[] {
  const words = question.toLowerCase().match(/[\p{L}\p{N}_@][\p{L}\p{N}_@./-]*/gu) ?? [];
  return [...new Set(words.map((word) => word.replace(/[./-]+$/, '')).filter((word) => !COMMON.has(word)))];
}

/** The words that a text has. A plural also counts as its singular. */
function coverage(text: string, words: readonly string[]): readonly string[] {
  const lower = text.toLowerCase();
  return words.filter(
    (word) => lower.includes(word) || (word.endsWith('s') && lower.includes(word.slice(0, -1))),
  );
}

/** The lines that have most of the words: half of them at least. */
function bestLines(text: string, words: readonly string[]): readonly string[] {
  const rated = text
    .split('\n')
    .map((line) => ({
      line: line.replace(/^(?:REPORT\.md:\d+: |> )/, '').trim(),
      fit: coverage(line, words).length,
    }))
    .filter(({ line, fit }) => fit * 2 >= words.length && /^[^[]/.test(line) && line.length < 400);
  const best = Math.max(...rated.map(({ fit }) => fit));
  return [...new Set(rated.filter(({ fit }) => fit === best).map(({ line }) => line))].slice(0, MAX_LINES);
}

/** Leaves out the question, and the guide's own search for it, which the log has too. */
function withoutMyself(text: string, request: string): string {
  const own = (line: string) =>
    line.includes(request) || line.includes(SEARCHING) || /\bcall \w+ \{/.test(line);
  return text
    .split('\n')
    .filter((line) => !own(line))
    .join('\n');
}

function quote(found: readonly string[]): string {
  return found.map((line) => `> ${line}`).join('\n');
}

function escapeExpression(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
