/** English words that say how a question is put, not what it is about; and what an apostrophe leaves of them. */
const WORDS = `
  a about am an and are as at be been being but by can could d did do does doing done for from had has have having he
  her here him his how i if in into is it its ll m may me might mine must my no nor not of on or our out over re s shall
  she should so t than that the their them then there these they this those to up us ve was we were what when where which
  who whom whose why will with would you your yours`;

const FUNCTION_WORDS: ReadonlySet<string> = new Set(WORDS.trim().split(/\s+/));

export function isFunctionWord(word: string): boolean {
  return FUNCTION_WORDS.has(word);
}
