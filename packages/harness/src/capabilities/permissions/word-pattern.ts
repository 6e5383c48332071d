/** A word as it is written, or an expression for one word. A match returns the named groups of expressions. */
type Word = string | RegExp;
type Options = readonly (Word | readonly Word[])[];

/** Each takes words, or sequences of words, of which one follows: once, at most once, at least once, any number of times. */
export const one = (...options: Options) => ({ options, isOptional: false, isRepeated: false });
export const maybe = (...options: Options) => ({ options, isOptional: true, isRepeated: false });
export const some = (...options: Options) => ({ options, isOptional: false, isRepeated: true });
export const many = (...options: Options) => ({ options, isOptional: true, isRepeated: true });

/** A word, and what may follow it. `undefined` is the end. */
type Place = { readonly word: Word; readonly next: readonly (Place | undefined)[] };

type Groups = Partial<Record<string, string>>;
/** The named groups of a word, and those of the words before it. */
type Found = readonly [groups: Groups, before: Found] | undefined;

/**
 * Returns a function that returns the named groups of words, or `undefined` if they do not match. It follows all possible
 * matches at once, so the time is linear in the number of words.
 */
export function pattern(...parts: readonly (Word | ReturnType<typeof one>)[]) {
  let begin: Place['next'] = [undefined];
  for (const part of parts.toReversed()) {
    const isWord = typeof part === 'string' || part instanceof RegExp;
    const { options, isOptional, isRepeated } = isWord ? one(part) : part;
    const last = [...begin];
    const places = options.flatMap((option) =>
      [option].flat().reduceRight<Place['next']>((next, word) => [{ word, next }], last),
    );
    if (isRepeated) last.unshift(...places);
    begin = isOptional ? [...places, ...begin] : places;
  }
  return (words: readonly string[]): readonly Groups[] | undefined => {
    let places = new Map<Place | undefined, Found>(begin.map((place) => [place, undefined]));
    for (const text of words) {
      const next: typeof places = new Map();
      for (const [place, before] of places) {
        const { word = /(?!)/, next: following = [] } = place ?? {};
        const read =
          typeof word === 'string' ? (word === text ? { groups: undefined } : null) : word.exec(text);
        const found: Found = read?.groups ? [read.groups, before] : before;
        for (const each of read ? following : []) if (!next.has(each)) next.set(each, found);
      }
      places = next;
    }
    const all: Groups[] = [];
    for (let found = places.get(undefined); found; found = found[1]) all.push(found[0]);
    return places.has(undefined) ? all.reverse() : undefined;
  };
}
