type Groups = Partial<Record<string, string>>;
/** The positions in the words at which a part may end, with the named groups of the words before. */
type Ends = ReadonlyMap<number, readonly Groups[]>;
/** A pattern of words: a literal word, a regular expression for one word, a sequence of parts, or a choice. */
export type Part = string | RegExp | readonly Part[] | ((words: readonly string[], from: Ends) => Ends);

const choice =
  (isOptional: boolean, isRepeated: boolean) =>
  (...options: readonly Part[]): Part =>
  (words, from) => {
    const ends = new Map(isOptional ? from : []);
    const begins = new Map(from);
    // The loop also visits the positions that it adds.
    for (const begin of begins)
      for (const [end, groups] of options.flatMap((each) => [...endsOf(each, words, new Map([begin]))])) {
        if (!ends.has(end)) ends.set(end, groups);
        if (isRepeated && !begins.has(end)) begins.set(end, groups);
      }
    return ends;
  };

/** A choice of parts that must match once (`one`), at most once (`maybe`), at least once (`some`), or any number of times (`many`). */
export const one = choice(false, false);
export const maybe = choice(true, false);
export const some = choice(false, true);
export const many = choice(true, true);

/**
 * Returns where a part may end that begins at one of `from`. It follows all possible matches at once, so the time is
 * linear in the number of words.
 */
export function endsOf(part: Part, words: readonly string[], from: Ends = new Map([[0, []]])): Ends {
  if (typeof part === 'function') return part(words, from);
  if (typeof part === 'object' && !(part instanceof RegExp))
    return part.reduce<Ends>((ends, each) => endsOf(each, words, ends), from);
  const ends = new Map<number, readonly Groups[]>();
  for (const [at, groups] of from)
    for (const word of words.slice(at, at + 1)) {
      const read = typeof part === 'string' ? word === part && { groups: undefined } : part.exec(word);
      if (read) ends.set(at + 1, read.groups ? [...groups, read.groups] : groups);
    }
  return ends;
}
