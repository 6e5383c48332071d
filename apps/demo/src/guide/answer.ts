import { type Figures, known, REPO, section, stats, written } from './survey/facts.js';
import { act, type Decision, say, type View, type Wish } from './view.js';

const COMMON = new Set(
  `a about again all also am an and any anything are as at be been but by can could did do does file find for found from get
  give had has have how i if in into is it its just know learn look many me more most much my no not now of on one only
  open or other our out please print read say see should show so some tell than that the their them then there these they
  this to two up us use was we were what when where which who why will with would you your`.split(/\s+/),
);
/** As in “where is openSession defined?”. */
const WHERE = /\bwhere\b.*?\b(?:is|are|do|does)\b\s+(?:the\s+|you\s+)?[`"']?([A-Za-z_$][\w$.-]*)/i;
/** A path of the repository, in a question of any language. */
const PATH = /[\w.@-]+(?:\/[\w.@-]+)+/;
/** As in “how many open TODOs are there”. */
const HOW_MANY = /\bhow many\b.*?\b(file|line|test|export|todo)s?\b/i;
/** As in “show me REPORT.md”. */
const SHOW = /\b(?:show|open|read|print)\b.*?([\w@-][\w./@-]*\.[a-z]\w{0,4})\b/i;
/** As in “open the report”. */
const REPORT = /\b(?:show|open|read|print|see|summari[sz]e|what is in|what does)\b.*\breport\b/i;
const THANKS = /^(?:thanks|thank you|thx|cheers|great|bye)\b[\s\w.!]*$/i;
const SEARCHING = 'That is not in what I see now. Searching';
const NOTHING = 'I found no line with most of these words:';
const MAX_WORDS = 12;
const MAX_PLACES = 5;
const MAX_LINES = 6;
const LIMIT =
  'I am a rule-based guide, no language model: I can survey this repository, show a file, and quote what was found; I cannot reason about it.';

/** What the page knows better than a model, which sees no more than its view: a question, and where the page has its answer. */
const ON_THE_PAGE: readonly (readonly [question: RegExp, answer: string])[] = [
  [
    /\bhow (?:many|often)\b.*\b(?:compactions?|reductions?|compacted|reduced)\b|\b(?:why|what|when|how)\b.*\b(?:reduced|compacted|summari[sz]ed|shortened|removed|forgotten|lost)\b/i,
    'A conversation is reduced when it nears the end of the window, or when you say /compact. The page knows more of it than I do: each line “Context compacted” above, opened, says why, what was removed and what stands in its place, and “Removed last” beside the gauge opens the newest.',
  ],
  [
    /\b(?:what|which|show)\b.*\b(?:see|saw|seen|sent|held|request|view)\b.*\b(?:step|request|call|model)\b|\b(?:step|request|call) #?\d+/i,
    'I see my newest view alone. The page keeps all of them: Inspect, above at the right, or the key i, goes to any request of this conversation by its number, with what it held and what had changed since the one before.',
  ],
  [
    /\b(?:cost|costs|price|paid|spent|expensive|how (?:many|much) (?:tokens|steps|calls|requests|time)|tokens? (?:used|spent))\b/i,
    'The page counts that: “Cost and cache” at the right has the calls and tokens of this conversation and what they cost by the prices of its model, and Inspect has each call. I am rules and no language model, so what I do costs nothing.',
  ],
];

/**
 * Answers a question: where something is defined, what a file says, what is known of a directory, else by quoting the
 * lines of the memory, of the report and of the session's log that have its words. What was not found is named; what was not looked for
 * is not.
 */
export function answer(view: View): Decision {
  const { request } = view;
  const name = WHERE.exec(request)?.[1];
  if (name !== undefined) return define(view, name);
  const path = SHOW.exec(request)?.[1];
  if (path !== undefined) return show(view, path);
  const area = PATH.exec(request)?.[0].replace(/[./]+$/, '');
  if (area !== undefined) return tellOf(view, area) ?? lookUp(view);
  const onThePage = ON_THE_PAGE.find(([question]) => question.test(request))?.[1];
  if (onThePage !== undefined) return say(onThePage);
  if (REPORT.test(request)) return show(view, 'REPORT.md');
  if (THANKS.test(request)) return say('Gladly. Ask me about any area of the report.');
  const counted = HOW_MANY.exec(request)?.[1]?.toLowerCase();
  return (counted && total(view, `${counted}s` as keyof Figures)) || lookUp(view);
}

function lookUp(view: View): Decision {
  const words = keywords(view.request);
  if (words.length === 0)
    return say('I did not find a word in that to look for. Try "survey this repository".');
  const query = { query: words.join(' '), limit: 5 };
  const wishes: readonly Wish[] = [
    { name: 'memory_search', input: query },
    {
      name: 'grep_files',
      input: { pattern: words.map(escapeExpression).join('|'), path: 'REPORT.md', ignoreCase: true },
    },
    { name: 'session_search', input: query },
  ];
  const found = wishes.map(({ name, input }) => view.result(name, input));
  if (found.every((result) => result === undefined)) {
    for (const { source, text } of view.passages) {
      const lines = bestLines(withoutMyself(text, view.request), words);
      if (lines.length > 0 && coverage(lines[0] ?? '', words).length === words.length)
        return say(
          `From ${source === 'summary' ? 'the record of' : 'what I still see of'} this conversation:\n\n${quote(lines)}`,
        );
    }
    return act(`${SEARCHING} what was remembered, written and said for: ${words.join(', ')}.`, ...wishes);
  }
  const sources = ['My memory', 'REPORT.md', 'The log of this session'];
  for (const [at, result] of found.entries()) {
    const lines = result && !result.isError ? bestLines(withoutMyself(result.text, view.request), words) : [];
    if (lines.length === 0) continue;
    const missing = without(words, lines.join(' '));
    const rest = missing.length > 0 ? `\n\nOf ${missing.join(', ')} I have no record there.` : '';
    return say(`${sources[at]} says:\n\n${quote(lines)}${rest}`);
  }
  const where = found[1]?.isError
    ? 'I searched my memory and the log of this session; there is no report yet.'
    : 'I searched my memory, REPORT.md and the log of this session.';
  return say(`${NOTHING} ${words.join(', ')}. ${where} ${LIMIT}`);
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

/** What is known of a directory: its section of the report, else its figures, measured now. */
function tellOf(view: View, area: string): Decision | undefined {
  const sections = known(view, written);
  if (!sections) return act(`Looking for ${area} in the report.`, written.wish);
  const figures = sections.find((other) => other.area === area);
  if (!figures) return measure(view, area);
  const fact = section(figures);
  const found = view.result(fact.wish.name, fact.wish.input);
  if (!found) return act(`Reading what the report says of ${area}.`, fact.wish);
  const lines = fact.read(found.text);
  if (!lines) return undefined;
  const missing = without(keywords(view.request), [area, ...lines].join(' '));
  const rest =
    missing.length > 0 ? `\n\nI match words only. Of ${missing.join(', ')} I have no record there.` : '';
  return say(`REPORT.md says of ${area}:\n\n${quote(lines)}${rest}`);
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

/** Adds up what the report counts in every area. */
function total(view: View, what: keyof Figures): Decision | undefined {
  const sections = known(view, written);
  if (!sections) return act('Adding up what the report counts.', written.wish);
  if (sections.length === 0) return undefined;
  const counts = sections.map((figures) => ({ area: figures.area, count: Number(figures[what]) }));
  const most = counts.sort((left, right) => right.count - left.count).slice(0, MAX_PLACES);
  const sum = counts.reduce((sum, { count }) => sum + count, 0);
  const rows = most.flatMap(({ area, count }) => (count > 0 ? [`${area}: ${count}`] : []));
  return say(`REPORT.md counts ${sum} ${what} in its ${sections.length} areas.\n\n${quote(rows)}`);
}

/** The words of a question that may tell where its answer stands. */
function keywords(question: string): readonly string[] {
  const words = question.toLowerCase().match(/[\p{L}\p{N}_@][\p{L}\p{N}_@./-]*/gu) ?? [];
  const telling = words.map((word) => word.replace(/[./-]+$/, '')).filter((word) => !COMMON.has(word));
  return [...new Set(telling)].slice(0, MAX_WORDS);
}

/** The words that a text has, as whole words. A plural also counts as its singular. */
function coverage(text: string, words: readonly string[]): readonly string[] {
  return words.filter((word) => {
    const stem = escapeExpression(word.replace(/s$/, ''));
    return new RegExp(`(?<![\\p{L}\\p{N}_])${stem}s?(?![\\p{L}\\p{N}_])`, 'iu').test(text);
  });
}

function without(words: readonly string[], text: string): readonly string[] {
  const found = coverage(text, words);
  return words.filter((word) => !found.includes(word));
}

/** The lines that have most of the words: half of them at least, and two where there are two. */
function bestLines(text: string, words: readonly string[]): readonly string[] {
  const rated = text
    .split('\n')
    .map((line) => ({
      line: line.replace(/^(?:[\w/-]+\.md:\d+: |> )/, '').trim(),
      fit: coverage(line, words).length,
    }))
    .filter(
      ({ line, fit }) =>
        fit >= Math.min(words.length, 2) &&
        fit * 2 >= words.length &&
        /^[^[]/.test(line) &&
        line.length < 400,
    );
  const best = Math.max(...rated.map(({ fit }) => fit));
  return [...new Set(rated.filter(({ fit }) => fit === best).map(({ line }) => line))].slice(0, MAX_LINES);
}

/** Leaves out questions, and the guide's own search for an answer, which the log has too. */
function withoutMyself(text: string, request: string): string {
  const own = (line: string) =>
    line.includes(request) ||
    line.includes(SEARCHING) ||
    line.includes(NOTHING) ||
    /\?\s*$|^Excerpts in order|^result of execute/.test(line) ||
    /\bcall \w+ \{/.test(line);
  return text
    .split('\n')
    .filter((line) => !own(line))
    .join('\n');
}

/** Lines as items of a list: as one paragraph they would run into each other. */
function quote(found: readonly string[]): string {
  return found.map((line) => `- ${line.replace(/^(?:[-*>|] )+/, '')}`).join('\n');
}

function escapeExpression(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}
