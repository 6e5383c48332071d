import { estimateCounter, headOf, type TokenCounter, tailOf } from '@x/core';

/** What is kept of a text that is too long: its beginning, or as much of its end as well. */
export type Kept = 'beginning' | 'both-ends';

/** The text, or whole lines of it with a note where something was left out, within a budget of estimated tokens. */
export function fitTokens(
  text: string,
  maxTokens: number,
  note: string,
  kept: Kept = 'both-ends',
  counter: TokenCounter = estimateCounter,
): string {
  if (counter.count(text) <= maxTokens) return text;
  const left = Math.max(0, maxTokens - counter.count(note));
  const head = longest(text, kept === 'beginning' ? left : Math.floor(left / 2), headOf, counter);
  const headLines = (head.slice(0, head.lastIndexOf('\n') + 1) || head).trimEnd();
  if (kept === 'beginning') return `${headLines}\n${note}`;
  const tail = longest(text, Math.floor(left / 2), tailOf, counter);
  const tailLines = (tail.slice(tail.indexOf('\n') + 1) || tail).trimStart();
  return `${headLines}\n${note}\n${tailLines}`;
}

function longest(
  text: string,
  maxTokens: number,
  part: (text: string, length: number) => string,
  counter: TokenCounter,
): string {
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (counter.count(part(text, middle)) <= maxTokens) low = middle;
    else high = middle - 1;
  }
  return part(text, low);
}
