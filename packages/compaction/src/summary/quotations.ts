import { type Message, textOf, toolUsesOf } from '@x/core';
import { mapStrings } from '../conversation/text.js';

/** Marks that open a quotation, each with those that close it. */
const CLOSING: Readonly<Record<string, string>> = { '"': '"', '“': '”"', '„': '“”"', '«': '»', '「': '」' };
/** Shortest quotation that is checked, in UTF-16 units. Shorter ones are names or single words. */
const SHORTEST = 12;

interface Quotation {
  readonly start: number;
  readonly end: number;
  readonly words: string;
}

/**
 * Removes sentences from a narrative whose quotations occur in no source, ignoring case, white space and quotation marks. A gap in a
 * quotation, written as "…", matches anything. Removes lines that become empty; headings stay.
 */
export function withoutFalseQuotations(
  narrative: string,
  sources: readonly string[],
): { readonly text: string; readonly removed: number } {
  const held = normalized(sources.join('\n'));
  let removed = 0;
  const lines = narrative.split('\n').flatMap((line) => {
    if (line.startsWith('#')) return line;
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
    if (closing === undefined) continue;
    let end = start + 1;
    while (end < line.length && !closing.includes(line.charAt(end))) end++;
    if (end === line.length) continue;
    const words = line.slice(start + 1, end);
    if (words.length >= SHORTEST && words.trim().includes(' ')) found.push({ start, end: end + 1, words });
    start = end;
  }
  return found;
}

function isHeld(words: string, held: string): boolean {
  return normalized(words)
    .split(/\[?…\]?|\.\.\./)
    .every((part) => held.includes(part.trim().replace(/[.,;:!?]$/, '')));
}

function normalized(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[“”„«»]/g, '"')
    .replaceAll(/[‘’]/g, "'")
    .replaceAll(/\s/g, ' ')
    .replaceAll(/ {2,}/g, ' ');
}

const SENTENCE_END = /[.!?。！？]["”»]?(?=\s|$)/g;
const ITEM = /^\s{0,12}(?:[-*•+]|\d{1,3}[.)])\s/;

/** Removes the sentence around a quotation from a line. */
function withoutSentence(line: string, { start, end }: Quotation): string {
  const ends = [...line.matchAll(SENTENCE_END)].map((match) => match.index + match[0].length);
  const from = ends.findLast((at) => at <= start) ?? ITEM.exec(line)?.[0].length ?? 0;
  const to = ends.find((at) => at >= end) ?? line.length;
  return (line.slice(0, from) + line.slice(to)).trimEnd();
}
