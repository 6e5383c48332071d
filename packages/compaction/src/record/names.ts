/** A name in a text: a path, an identifier, an id, a number of more than one digit. Words are none. */
const SHORTEST = 4;
const LONGEST = 120;

const LETTER = 1;
const CAPITAL = 2;
const DIGIT = 3;
/** Tells a name wherever it stands inside: `_`, `/`, `@`, `#`, `~`, `:`. */
const JOINT = 4;
/** Belongs to a name when letters or digits follow: `.` and `-`. */
const INNER = 5;

const kinds = new Uint8Array(0x80);
for (let unit = 0x61; unit <= 0x7a; unit++) kinds[unit] = LETTER;
for (let unit = 0x41; unit <= 0x5a; unit++) kinds[unit] = CAPITAL;
for (let unit = 0x30; unit <= 0x39; unit++) kinds[unit] = DIGIT;
for (const joint of '_/@#~') kinds[joint.charCodeAt(0)] = JOINT;
for (const inner of '.-') kinds[inner.charCodeAt(0)] = INNER;

/**
 * The names in a text, each once: runs of letters, digits and joints that hold a digit, a joint or a capital inside, by
 * their form in any language. Names in scripts without such forms are words, which excerpts hold.
 *
 * @param numbers Whether numbers of more than one digit count: what is passed to a tool, not what it prints.
 */
export function namesIn(text: string, numbers: boolean): readonly string[] {
  const names = new Set<string>();
  let start = -1;
  for (let index = 0; index <= text.length; index++) {
    const unit = index < text.length ? text.charCodeAt(index) : 0;
    if (unit < 0x80 && kinds[unit] !== 0) {
      if (start === -1) start = index;
      continue;
    }
    if (start !== -1 && index - start >= 2 && index - start <= LONGEST)
      addName(text, start, index, numbers, names);
    start = -1;
  }
  return [...names];
}

/** A date with the beginning of a time names nothing. */
const TIME = /^\d{4}-\d\d-\d\dT\d/;

function addName(text: string, from: number, to: number, numbers: boolean, names: Set<string>): void {
  let start = from;
  let end = to;
  while (start < end && kinds[text.charCodeAt(start)] === INNER) start++;
  while (end > start && (kinds[text.charCodeAt(end - 1)] ?? 0) >= JOINT) end--;
  let digits = 0;
  let letters = 0;
  let telling = false;
  let before = 0;
  for (let index = start; index < end; index++) {
    const kind = kinds[text.charCodeAt(index)] ?? 0;
    if (kind === DIGIT) digits++;
    else if (kind === LETTER || kind === CAPITAL) letters++;
    if (kind === JOINT || (kind === CAPITAL && before === LETTER)) telling = true;
    // A dot inside: a file's ending, a member. A hyphen alone joins words.
    if (before === INNER && (kind === LETTER || kind === CAPITAL) && text.charCodeAt(index - 1) === 0x2e)
      telling = true;
    before = kind;
  }
  if (letters === 0) {
    if (numbers && digits > 1) names.add(text.slice(start, end));
    return;
  }
  if (end - start < SHORTEST || !(telling || digits > 0)) return;
  const name = text.slice(start, end);
  if (!TIME.test(name)) names.add(name);
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
export function rankedNames(mentions: Iterable<Mention>): readonly (readonly [name: string, at: number])[] {
  const known = new Map<string, { at: number; weight: number }>();
  let newest = 1;
  for (const { names, at, by } of mentions) {
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
  const worth = ({ at, weight }: { at: number; weight: number }) => weight * (1 + at / newest);
  return [...known]
    .sort(([, one], [, other]) => worth(other) - worth(one))
    .map(([name, { at }]) => [name, at]);
}
