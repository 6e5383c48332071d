/**
 * Whether items fit a pattern in which some elements (`isAny`) stand for any number of items, and each other one for
 * exactly one. Takes time in proportion to the product of both lengths at most: such patterns never blow up.
 */
export function matchSequence<Element, Item>(
  pattern: readonly Element[],
  items: ArrayLike<Item>,
  fits: { isAny(element: Element): boolean; isOne(element: Element, item: Item): boolean },
): boolean {
  let element = 0;
  let item = 0;
  // Where the last "any" stands, and how far it reaches: it alone has to be tried again, and longer.
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
