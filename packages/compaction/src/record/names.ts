import { isTimeToRest, type Work } from '@x/core/internal';

/** UTF-16 units that a name has at least, and at most. */
const SHORTEST = 4;
const LONGEST = 120;

/** Runs of letters, digits and the signs that stand inside names, with something that tells a name from a word. */
const RUN = /(?<![\w/@#~.-])[A-Za-z.-]*?(?:[\d_/@#~]|[a-z][A-Z]|\.[A-Za-z])[\w/@#~.-]*/g;
/** What a program appended to an address. */
const QUERY = /(?<=:\/\/[^\s?]{1,500})\?[^\s"'<>]*/g;
/** What belongs to no name where it begins or ends one. */
const EDGES = /^[.-]+|(?<![_/@#~.-])[_/@#~.-]+$/g;
/** What tells a name from a word: a joint, a capital inside, a member or an ending. A hyphen alone joins words. */
const TELLING = /[\d_/@#~]|[a-z][A-Z]|\.[A-Za-z]/;
/** A date with the beginning of a time names nothing, nor does the end of one. */
const TIME = /^\d{4}-\d\d-\d\dT\d|^\d\d(?:\.\d+)?Z$/;

/**
 * The names in a text, each once: paths, identifiers and ids, by their form in any language. Names in scripts without such forms are
 * words, which excerpts hold.
 *
 * @param numbers Whether numbers of more than one digit count: what is passed to a tool, not what it prints.
 */
export function namesIn(text: string, numbers: boolean): readonly string[] {
  const names: string[] = [];
  for (const run of text.replaceAll(QUERY, ' ').match(RUN) ?? []) {
    if (run.length > LONGEST) continue;
    const name = run.replaceAll(EDGES, '');
    if (!/[A-Za-z]/.test(name)) {
      if (numbers && /\d.*\d/.test(name)) names.push(name);
    } else if (name.length >= SHORTEST && TELLING.test(name) && !TIME.test(name)) names.push(name);
  }
  return names.length < 2 ? names : [...new Set(names)];
}

/** Names of one message, by the way in which it mentions them. */
export interface Mention {
  readonly names: readonly string[];
  /** Number of the message. */
  readonly at: number;
  readonly by: keyof typeof WEIGHT;
}

/** Weights of a mention: by a user, as an argument of a call, by the assistant, in a result; and the most of one name. */
const WEIGHT = { user: 4, passed: 3, assistant: 2, tool: 1 };
const MOST_TOGETHER = 12;

/** Names with the message that said them last, the best first: newer ones count up to twice as much as old ones. */
export function* rankedNames(
  mentions: Iterable<Mention>,
): Work<readonly (readonly [name: string, at: number])[]> {
  const known = new Map<string, { at: number; weight: number }>();
  let newest = 1;
  for (const { names, at, by } of mentions) {
    if (isTimeToRest()) yield;
    newest = Math.max(newest, at);
    for (const name of names) {
      const before = known.get(name);
      if (before === undefined) known.set(name, { at, weight: WEIGHT[by] });
      else {
        before.at = Math.max(before.at, at);
        before.weight = Math.min(MOST_TOGETHER, before.weight + WEIGHT[by]);
      }
    }
  }
  yield;
  return [...known]
    .map(([name, { at, weight }]) => ({ name, at, worth: weight * (1 + at / newest) }))
    .sort((one, other) => other.worth - one.worth)
    .map(({ name, at }) => [name, at]);
}
