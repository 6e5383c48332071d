interface Token {
  readonly type: 'any' | 'one' | 'literal';
  readonly text: string;
}

/** Tests if a text matches a pattern: `*` matches any characters, `?` matches one, and `\` escapes the next character. */
export function matchWildcard(pattern: string, text: string): boolean {
  return matchSequence(tokensOf(pattern), text, {
    isAny: ({ type }) => type === 'any',
    isOne: (token, character: string) => token.type === 'one' || token.text === character,
  });
}

/** Returns the text that a pattern without wildcards matches, or `undefined` if the pattern has wildcards. */
export function literalOf(pattern: string): string | undefined {
  const tokens = tokensOf(pattern);
  if (tokens.some(({ type }) => type !== 'literal')) return undefined;
  return tokens.map(({ text }) => text).join('');
}

/** Returns a pattern that matches only this text. */
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
 * Tests if items match a pattern in which some elements (`isAny`) match any number of items, and every other element
 * matches exactly one. Takes at most time proportional to the product of both lengths.
 */
export function matchSequence<Element, Item>(
  pattern: readonly Element[],
  items: ArrayLike<Item>,
  fits: { isAny(element: Element): boolean; isOne(element: Element, item: Item): boolean },
): boolean {
  let element = 0;
  let item = 0;
  // Position of the last "any" and how far it reaches. Only this one needs to be retried with more items.
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
