import { type Message, textOf, toolUsesOf } from '@x/core';
import { mapStrings } from '../conversation/text.js';

/** By mark that opens a quotation: the marks that close it. */
const CLOSING: ReadonlyMap<string, string> = new Map(
  `"" '' “”" „“”" «» ‹› ‘’ 「」 ｢｣ 『』 《》 〈〉 »«» ””“ ‚‘ ＂＂ 〝〞〟`
    .split(' ')
    .map((marks) => [marks.charAt(0), marks.slice(1)]),
);
/** Shortest quotation that is checked, in UTF-16 units. Shorter ones are names or single words. */
const SHORTEST = 12;
/** Shortest quotation that is checked in scripts without spaces. */
const SHORTEST_UNSPACED = 6;
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;
/** Maximum characters of a source that a gap in a quotation may stand for. */
const WIDEST_GAP = 400;
/** Maximum number of parts of a quotation, separated by gaps. */
const MOST_PARTS = 8;

interface Quotation {
  readonly start: number;
  readonly end: number;
  readonly words: string;
}

/**
 * Removes sentences from a narrative if their quotations do not occur in any source. Ignores case, white space, quotation marks,
 * escapes, line numbers and Markdown. A gap in a quotation, written as "…", stands for a short part of the same source. Each line of a
 * block quotation is checked as one quotation. Quotation marks within code, between backticks or fences, are not checked.
 */
export function withoutFalseQuotations(
  narrative: string,
  sources: readonly string[],
): { readonly text: string; readonly removed: number } {
  const held = sources.map(comparable);
  let removed = 0;
  const given = narrative.split(BLOCK_START);
  const lastFence = given.findLastIndex((block) => FENCE.test(block));
  let isCode = false;
  const blocks = given.flatMap((block, index) => {
    if (FENCE.test(block)) isCode = !isCode && index < lastFence;
    if (isCode) return block;
    const isFalse = ({ words }: Quotation) => !held.some((source) => isHeld(words, source));
    const found = quotationsIn(block).filter(isFalse);
    if (found.length === 0) return block;
    removed += found.length;
    const rest = withoutSentences(block, found);
    return /\p{L}/u.test(rest) ? rest : [];
  });
  return { text: blocks.join('\n'), removed };
}

/** Returns the texts that may be quoted: texts of messages, tool results and tool arguments. */
export function quotableIn(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) => {
    const texts = [textOf(message)];
    for (const { input } of toolUsesOf(message))
      mapStrings(input, (text) => texts[texts.push(text) - 1] ?? '');
    return texts;
  });
}

/** Matches a line break in front of a blank line, heading, list item, table row or fence. Other lines go on with the one before. */
const BLOCK_START = /\n(?=[ \t]{0,12}(?:$|[\n#|>]|[-*•+] |\d{1,3}[.)] |```|~~~))/;
const FENCE = /^[ \t]{0,12}(?:```|~~~)/;
const BLOCK_QUOTE = /^[ \t]{0,12}>/;
const GAP = /\[?(?:…|\.\.\.)\]?/;

function quotationsIn(block: string): readonly Quotation[] {
  if (BLOCK_QUOTE.test(block)) {
    const words = block.replaceAll(/^[ \t]{0,12}>/gm, '');
    return isChecked(words.trim()) ? [{ start: 0, end: block.length, words }] : [];
  }
  const found: Quotation[] = [];
  const unclosed = new Set<string>();
  for (let start = 0; start < block.length; start++) {
    // A command with quoted arguments between backticks quotes nobody.
    if (block.charAt(start) === '`' && !CLOSING.has(block.charAt(start + 1)))
      start = Math.max(start, block.indexOf('`', start + 1));
    const closing = CLOSING.get(block.charAt(start));
    // After a Latin letter or a digit, the mark is an apostrophe, or inches.
    if (
      closing === undefined ||
      unclosed.has(closing) ||
      /[\p{sc=Latin}\p{N}]/u.test(block.charAt(start - 1))
    )
      continue;
    let end = start + 1;
    while (end < block.length && !isClosed(block, end, closing)) end++;
    if (end === block.length) {
      unclosed.add(closing);
      continue;
    }
    const words = block.slice(start + 1, end);
    if (isChecked(words.trim())) found.push({ start, end: end + 1, words });
    start = end;
  }
  return found;
}

/** Tests if a mark closes a quotation. In front of a Latin letter, a single mark is an apostrophe. */
function isClosed(block: string, at: number, closing: string): boolean {
  const isSingle = closing === "'" || closing === '’';
  return closing.includes(block.charAt(at)) && !(isSingle && /\p{sc=Latin}/u.test(block.charAt(at + 1)));
}

function isChecked(words: string): boolean {
  return UNSPACED.test(words)
    ? words.length >= SHORTEST_UNSPACED
    : words.length >= SHORTEST && /\s/.test(words);
}

/** Tests if a source has the parts of a quotation in their order, with short gaps between them. */
function isHeld(words: string, source: string): boolean {
  const parts = words
    .split(GAP)
    .map(comparable)
    .filter((part) => part !== '');
  if (parts.length > MOST_PARTS) return false;
  let ends: readonly number[] | undefined;
  for (const part of parts) {
    const before = ends;
    let last = 0;
    const places = placesOf(part, source).filter((at) => {
      if (before === undefined) return true;
      while ((before[last + 1] ?? Infinity) <= at) last++;
      const gap = at - (before[last] ?? Infinity);
      return gap >= 0 && gap <= WIDEST_GAP;
    });
    ends = places.map((at) => at + part.length);
  }
  return ends === undefined || ends.length > 0;
}

function placesOf(part: string, source: string): readonly number[] {
  const places: number[] = [];
  for (let at = source.indexOf(part); at !== -1; at = source.indexOf(part, at + part.length)) places.push(at);
  return places;
}

/**
 * Normalizes a text for comparison: removes white space, quotation marks, escapes, line numbers, Markdown and final punctuation; unifies
 * letters and dashes.
 */
function comparable(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/^[ \t]{0,12}\d{1,9}[\t→|]/gm, '')
    .replaceAll(/\\{1,99}[nrt]?/g, '')
    .replaceAll(/[\s"'“”„«»‹›‘’‚「」『』《》〈〉〝〞〟*_`~|#>]/g, '')
    .replaceAll(/\p{Pd}/gu, '-')
    .replace(/[.,;:!?。！？]$/, '');
}

const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });

/** Removes the sentences that quotations are part of. In a list of findings, removes only what is between two semicolons. */
function withoutSentences(block: string, quotations: readonly Quotation[]): string {
  let rest = '';
  let next = 0;
  let from = 0;
  const sentences = [...SENTENCES.segment(block.replaceAll('\n', ' '))];
  for (const { length } of sentences.flatMap(({ segment }) => segment.split(/(?<=;)/))) {
    const to = from + length;
    while ((quotations[next]?.end ?? Infinity) <= from) next++;
    if ((quotations[next]?.start ?? Infinity) >= to) rest += block.slice(from, to);
    from = to;
  }
  return rest.trimEnd();
}
