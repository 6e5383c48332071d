import { type Message, textOf, toolUsesOf } from '@x/core';
import { mapStrings } from '../conversation/text.js';

/** Marks that open a quotation, each with those that close it. */
const CLOSING: Readonly<Record<string, string>> = {
  '"': '"',
  '“': '”"',
  '„': '“”"',
  '«': '»',
  '‘': '’',
  '「': '」',
  '『': '』',
};
/** Shortest quotation that is checked, in UTF-16 units. Shorter ones are names or single words. */
const SHORTEST = 12;
/** Shortest quotation that is checked in scripts without spaces. */
const SHORTEST_UNSPACED = 6;
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;

interface Quotation {
  readonly start: number;
  readonly end: number;
  readonly words: string;
}

/**
 * Removes sentences from a narrative whose quotations occur in no source, ignoring case, white space and quotation marks. A gap in a
 * quotation, written as "…", matches anything in the same source. Removes lines that become empty.
 */
export function withoutFalseQuotations(
  narrative: string,
  sources: readonly string[],
): { readonly text: string; readonly removed: number } {
  const held = sources.map(normalized);
  let removed = 0;
  const lines = narrative.split('\n').flatMap((line) => {
    let rest = line;
    const isFalse = ({ words }: Quotation) => !isHeld(words, held);
    for (let found = quotationsIn(rest).find(isFalse); found; found = quotationsIn(rest).find(isFalse)) {
      removed++;
      rest = withoutSentence(rest, found);
    }
    return rest === line || /\p{L}/u.test(rest) ? rest : [];
  });
  return { text: lines.join('\n'), removed };
}

/** Returns the texts that may be quoted: what messages say, print and pass to tools. */
export function quotableIn(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) => {
    const texts = [textOf(message)];
    for (const { input } of toolUsesOf(message))
      mapStrings(input, (text) => texts[texts.push(text) - 1] ?? '');
    return texts;
  });
}

function quotationsIn(line: string): readonly Quotation[] {
  const found: Quotation[] = [];
  for (let start = 0; start < line.length; start++) {
    const closing = CLOSING[line.charAt(start)];
    // After a Latin letter or a digit, the mark is an apostrophe, or inches.
    if (closing === undefined || /[\p{sc=Latin}\p{N}]/u.test(line.charAt(start - 1))) continue;
    let end = start + 1;
    while (end < line.length && !closing.includes(line.charAt(end))) end++;
    if (end === line.length) continue;
    const words = line.slice(start + 1, end);
    if (isChecked(words.trim())) found.push({ start, end: end + 1, words });
    start = end;
  }
  return found;
}

function isChecked(words: string): boolean {
  return UNSPACED.test(words)
    ? words.length >= SHORTEST_UNSPACED
    : words.length >= SHORTEST && words.includes(' ');
}

/** Tests if a source has the parts of a quotation in their order. */
function isHeld(words: string, sources: readonly string[]): boolean {
  const parts = normalized(words)
    .split(/\[?…\]?|\.\.\./)
    .map((part) => part.trim().replace(/[.,;:!?。！？]$/, ''));
  return sources.some((source) => {
    let end = 0;
    return parts.every((part) => {
      const at = source.indexOf(part, end);
      end = at + part.length;
      return at !== -1;
    });
  });
}

function normalized(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll(/[‘’]/g, "'")
    .replaceAll(/\s/g, ' ')
    .replaceAll(/ {2,}/g, ' ');
}

const SENTENCE_END = /[.!?]["”»]?(?=\s|$)|[。！？]["”」』]?/g;
const ITEM = /^\s{0,12}(?:[-*•+]|\d{1,3}[.)])\s/;

/** Removes the sentence around a quotation from a line. */
function withoutSentence(line: string, { start, end }: Quotation): string {
  const ends = [...line.matchAll(SENTENCE_END)].map((match) => match.index + match[0].length);
  const from = ends.findLast((at) => at <= start) ?? ITEM.exec(line)?.[0].length ?? 0;
  const to = ends.find((at) => at >= end) ?? line.length;
  return (line.slice(0, from) + line.slice(to)).trimEnd();
}
