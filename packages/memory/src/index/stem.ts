type Rule = readonly [ending: string, replacement: string];

const LONGER: readonly Rule[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['bli', 'ble'],
  ['alli', 'al'],
  ['entli', 'ent'],
  ['eli', 'e'],
  ['ousli', 'ous'],
  ['ization', 'ize'],
  ['ation', 'ate'],
  ['ator', 'ate'],
  ['alism', 'al'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['biliti', 'ble'],
  ['logi', 'log'],
];
const SHORTER: readonly Rule[] = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ful', ''],
  ['ness', ''],
];
const LAST = /(?:al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|(?<=[st])ion|ou|ism|ate|iti|ous|ive|ize)$/;

/**
 * The stem of an English word in lower case (Porter, "An algorithm for suffix stripping", 1980, with the departures that
 * the author published later). Words of other letters are their own stems.
 */
export function stem(word: string): string {
  return word.length >= 3 && /^[a-z]+$/.test(word) ? stripped(word) : word;
}

function stripped(word: string): string {
  const singular = withoutParticiple(withoutPlural(word));
  const vowelEnd = singular.endsWith('y') && hasVowel(singular.slice(0, -1));
  const base = vowelEnd ? `${singular.slice(0, -1)}i` : singular;
  return withoutFinal(withoutLast(replaced(replaced(base, LONGER), SHORTER)));
}

function withoutPlural(word: string): string {
  if (word.endsWith('sses') || word.endsWith('ies')) return word.slice(0, -2);
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}

function withoutParticiple(word: string): string {
  if (word.endsWith('eed')) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const ending = /(?:ed|ing)$/.exec(word);
  if (ending === null) return word;
  const rest = word.slice(0, ending.index);
  if (!hasVowel(rest)) return word;
  if (/(?:at|bl|iz)$/.test(rest)) return `${rest}e`;
  if (/([^aeioulsz])\1$/.test(rest) && isConsonant(rest, rest.length - 1)) return rest.slice(0, -1);
  return measure(rest) === 1 && endsShort(rest) ? `${rest}e` : rest;
}

/** Replaces the longest ending of some rules, if enough stands before it. */
function replaced(word: string, rules: readonly Rule[]): string {
  let best: Rule | undefined;
  for (const rule of rules) {
    if (word.endsWith(rule[0]) && rule[0].length > (best?.[0].length ?? 0)) best = rule;
  }
  if (best === undefined) return word;
  const rest = word.slice(0, -best[0].length);
  return measure(rest) > 0 ? rest + best[1] : word;
}

function withoutLast(word: string): string {
  const ending = LAST.exec(word);
  if (ending === null) return word;
  const rest = word.slice(0, ending.index);
  return measure(rest) > 1 ? rest : word;
}

function withoutFinal(word: string): string {
  let left = word;
  if (left.endsWith('e')) {
    const rest = left.slice(0, -1);
    const size = measure(rest);
    if (size > 1 || (size === 1 && !endsShort(rest))) left = rest;
  }
  return left.endsWith('ll') && measure(left) > 1 ? left.slice(0, -1) : left;
}

/** How often a vowel is followed by a consonant. */
function measure(word: string): number {
  let count = 0;
  let afterVowel = false;
  for (let index = 0; index < word.length; index++) {
    const consonant = isConsonant(word, index);
    if (consonant && afterVowel) count++;
    afterVowel = !consonant;
  }
  return count;
}

function hasVowel(word: string): boolean {
  for (let index = 0; index < word.length; index++) if (!isConsonant(word, index)) return true;
  return false;
}

/** Consonant, vowel, consonant, the last of them not w, x or y: "hop", not "how". */
function endsShort(word: string): boolean {
  const last = word.length - 1;
  return (
    last >= 2 &&
    isConsonant(word, last - 2) &&
    !isConsonant(word, last - 1) &&
    isConsonant(word, last) &&
    !/[wxy]$/.test(word)
  );
}

function isConsonant(word: string, index: number): boolean {
  const letter = word[index] ?? '';
  if (letter === 'y') return index === 0 || !isConsonant(word, index - 1);
  return !'aeiou'.includes(letter);
}
