import { isTimeToRest, type Work } from '@x/core/internal';

/** Minimum and maximum UTF-16 units of a name. */
const SHORTEST = 4;
const LONGEST = 120;

/** Matches runs of letters, digits and name punctuation that have a feature that plain words lack. */
const RUN = /(?<![\w/@#~.-])[A-Za-z.-]*?(?:[\d_/@#~]|[a-z][A-Z]|\.[A-Za-z])[\w/@#~.-]*/g;
/** Matches the query of a URL. */
const QUERY = /\?(?<=:\/\/[^\s?]{1,500}\?)[^\s"'<>]*/g;
/** Matches punctuation at the edges of a run that does not belong to the name. */
const EDGE = /^[.-]|[_/@#~.-]$/;
const EDGES = /^[.-]+|(?<![_/@#~.-])[_/@#~.-]+$/g;
/** Matches a feature that words lack: a digit, a separator, an inner capital or a dot. A hyphen alone also joins words. */
const TELLING = /[\d_/@#~]|[a-z][A-Z]|\.[A-Za-z]/;
/** Matches the beginning or the end of an ISO timestamp, which is not a name. */
const TIME = /^\d{4}-\d\d-\d\dT\d|^\d\d(?:\.\d+)?Z$/;

/**
 * Returns the distinct names in a text: paths, identifiers and ids, recognized by their form in any language.
 *
 * @param numbers Whether numbers of more than one digit count. They do in arguments, not in results.
 */
export function namesIn(text: string, numbers: boolean): readonly string[] {
  const names: string[] = [];
  for (const run of (text.includes('://') ? text.replaceAll(QUERY, ' ') : text).match(RUN) ?? []) {
    if (run.length > LONGEST) continue;
    const name = EDGE.test(run) ? run.replaceAll(EDGES, '') : run;
    if (!/[A-Za-z]/.test(name)) {
      if (numbers && /\d.*\d/.test(name)) names.push(name);
    } else if (name.length >= SHORTEST && TELLING.test(name) && !TIME.test(name)) names.push(name);
  }
  return names.length < 2 ? names : [...new Set(names)];
}

/** Names in one message, and how it mentions them. */
export interface Mention {
  readonly names: readonly string[];
  /** Number of the message. */
  readonly at: number;
  readonly by: keyof typeof WEIGHT;
}

/** Weights of a mention by its source, and the maximum total weight of one name. */
const WEIGHT = { user: 4, passed: 3, assistant: 2, tool: 1 };
const MOST_TOGETHER = 12;

/** Ranks names, best first, with the message of their last mention. Recent mentions weigh up to twice as much as old ones. */
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
