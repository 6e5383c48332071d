interface Token {
  readonly type: 'any' | 'one' | 'literal';
  readonly text: string;
}

/** Returns whether a text fits a pattern: `*` stands for any characters, `?` for one, and `\` escapes the next one. */
export function matchWildcard(pattern: string, text: string): boolean {
  return matchSequence(tokensOf(pattern), text, {
    isAny: ({ type }) => type === 'any',
    isOne: (token, character: string) => token.type === 'one' || token.text === character,
  });
}

/** Returns the one text that a pattern without wildcards fits, or `undefined` for one with wildcards. */
export function literalOf(pattern: string): string | undefined {
  const tokens = tokensOf(pattern);
  if (tokens.some(({ type }) => type !== 'literal')) return undefined;
  return tokens.map(({ text }) => text).join('');
}

/** The pattern that fits this text alone. */
export function escapeWildcards(text: string): string {
  return text.replace(/[*?\\]/g, '\\$&');
}

function tokensOf(pattern: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let index = 0; index < pattern.length; index++) {
    const text = pattern[index] ?? '';
    if (text === '*') tokens.push({ type: 'any', text });
    else if (text === '?') tokens.push({ type: 'one', text });
    else if (text === '\\' && index + 1 < pattern.length) {
      tokens.push({ type: 'literal', text: pattern[++index] ?? '' });
    } else tokens.push({ type: 'literal', text });
  }
  return tokens;
}

/**
 * Returns whether items fit a pattern in which some elements (`isAny`) stand for any number of items, and each other one for
 * exactly one. Takes time in proportion to the product of both lengths at most: such patterns never blow up.
 */
export function matchSequence<Element, Item>(
  pattern: readonly Element[],
  items: ArrayLike<Item>,
  fits: { isAny(element: Element): boolean; isOne(element: Element, item: Item): boolean },
): boolean {
  let element = 0;
  let item = 0;
  // The position of the last "any" and its reach: it alone has to be tried again, and longer.
  let any = -1;
  let reach = 0;
  while (item < items.length) {
    const current = pattern[element];
    if (current !== undefined && fits.isAny(current)) {
      any = element++;
      reach = item;
    } else if (current !== undefined && fits.isOne(current, items[item] as Item)) {
      element++;
      item++;
    } else if (any >= 0) {
      element = any + 1;
      item = ++reach;
    } else return false;
  }
  return pattern.slice(element).every((rest) => fits.isAny(rest));
}
