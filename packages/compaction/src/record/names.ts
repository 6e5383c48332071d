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

/** A name with what its worth is judged by. */
export interface RankedName {
  readonly name: string;
  /** Number of the message that said it last. */
  readonly at: number;
  readonly weight: number;
}

/** Weights of a mention: by a user, as an argument of a call, by the assistant, in a result; and the most of one name. */
export const NAME_WEIGHT = { user: 4, passed: 3, said: 2, printed: 1, mostTogether: 12 };

/** Collects names over messages, in their order. */
export class NameRanking {
  readonly #names = new Map<string, { at: number; weight: number }>();

  add(names: Iterable<string>, at: number, weight: number): void {
    for (const name of names) {
      const known = this.#names.get(name);
      if (known) {
        known.at = Math.max(known.at, at);
        known.weight = Math.min(NAME_WEIGHT.mostTogether, known.weight + weight);
      } else this.#names.set(name, { at, weight });
    }
  }

  /** The names by worth, the best first: newer ones count up to twice as much as old ones. */
  ranked(): readonly RankedName[] {
    let newest = 1;
    for (const { at } of this.#names.values()) newest = Math.max(newest, at);
    const worth = ({ at, weight }: { at: number; weight: number }) => weight * (1 + at / newest);
    return [...this.#names]
      .map(([name, known]) => ({ name, ...known }))
      .sort((one, other) => worth(other) - worth(one));
  }
}
