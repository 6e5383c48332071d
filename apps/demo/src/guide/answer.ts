import { define, measure } from './look-up.js';
import { act, type Decision, say, type View } from './view.js';

const SEARCHING = 'I no longer see that. Searching';
const ENOUGH = 0.99;
const SOME = 0.5;
const MAX_LINES = 6;

/**
 * Answers a question from what is in view; failing that, from the report and the log of the session; failing that, by
 * measuring what is asked about.
 */
export function answer(view: View): Decision {
  const definition = define(view);
  if (definition) return definition;
  const words = keywords(view.request);
  if (words.length === 0)
    return say('I did not find a word in that to look for. Try "survey this repository".');

  const report = {
    name: 'grep_files',
    input: { pattern: words.map(escapeExpression).join('|'), path: 'REPORT.md', ignoreCase: true },
  };
  const search = { name: 'session_search', input: { query: words.join(' '), limit: 5 } };
  const found = [report, search].map(({ name, input }) => view.result(name, input));

  if (found.every((result) => result === undefined)) {
    const inView = bestPassage(view, words);
    if (inView)
      return say(
        `${inView.quote}\n\n(from ${inView.source === 'summary' ? 'the summary of' : 'what I still see of'} this conversation)`,
      );
    return act(
      `${SEARCHING} the report and the log of this session for: ${words.join(', ')}.`,
      report,
      search,
    );
  }
  const [inReport, inLog] = found.map((result) =>
    result && !result.isError ? lines(withoutMyself(result.text, view.request), words) : [],
  );
  if (inReport?.length) return say(`${quote(inReport)}\n\n(from REPORT.md)`);
  if (inLog?.length) return say(`${quote(inLog)}\n\n(from the log of this session)`);
  const measured = measure(view);
  if (measured) return measured;
  return say(
    `Neither REPORT.md nor the log of this session says anything about ${words.join(', ')}. I am a rule-based guide: I can survey this repository, and answer about what was found.`,
  );
}

function bestPassage(view: View, words: readonly string[]) {
  for (const { source, text } of view.passages) {
    const matching = lines(text, words, ENOUGH);
    if (matching.length > 0) return { source, quote: quote(matching) };
  }
  return undefined;
}

/** The lines that fit best; each of them fits at least that well. */
function lines(text: string, words: readonly string[], atLeast = SOME): readonly string[] {
  const rated = text
    .split('\n')
    .map((line) => ({
      line: line.replace(/^(?:REPORT\.md:\d+: |> )/, '').trim(),
      fit: coverage(line, words),
    }))
    .filter(({ line, fit }) => fit >= atLeast && /^[^[]/.test(line) && line.length < 400);
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

const COMMON = new Set(
  `a about again all am an and any are as at be been but by can could did do does for from get give had has have how i if in
  into is it its just many me more most much my no not now of on one only or other our out please say see should show so
  some tell than that the their them then there these they this to two up us use was we were what when where which
  who why will with would you your`.split(/\s+/),
);

/** The words of a question that may tell where its answer stands. */
function keywords(question: string): readonly string[] {
  const words = question.toLowerCase().match(/[\p{L}\p{N}_@][\p{L}\p{N}_@./-]*/gu) ?? [];
  return [...new Set(words.map((word) => word.replace(/[./-]+$/, '')).filter((word) => !COMMON.has(word)))];
}

/** Scores a text: the share of the words that it has. A plural also counts as its singular. */
export function coverage(text: string, words: readonly string[]): number {
  if (words.length === 0) return 0;
  const lower = text.toLowerCase();
  const hits = words.filter(
    (word) => lower.includes(word) || (word.endsWith('s') && lower.includes(word.slice(0, -1))),
  );
  return hits.length / words.length;
}
