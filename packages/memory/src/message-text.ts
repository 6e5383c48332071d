import { type ContentBlock, estimateCounter, type Message } from '@x/core';
import { headOf, LINE_BREAK, tailOf } from '@x/core/internal';

/** Tools whose calls and results only repeat text from elsewhere. */
const ECHO = /^(?:memory_|session_(?:list|history|search)$|recall$)/;

/** Maximum number of UTF-16 units to show of a message's text, and of tool inputs and results. */
export interface Shown {
  readonly spoken?: number;
  readonly tool?: number;
  /** Whether to show calls and results that only repeat text from elsewhere. Default true. */
  readonly echoes?: boolean;
}

/** Returns a message as text: its text, tool calls with their input, and tool results. Thinking is omitted. */
export function messageText({ content }: Pick<Message, 'content'>, shown: Shown = {}): string {
  const texts = content.map((block) => blockText(block, shown));
  return texts.filter(Boolean).join('\n');
}

function blockText(block: ContentBlock, shown: Shown): string {
  const { spoken = Infinity, tool = Infinity, echoes = true } = shown;
  switch (block.type) {
    case 'text':
      return cutMiddle(block.text, spoken);
    case 'tool_use':
      if (!echoes && ECHO.test(block.name)) return '';
      return `call ${block.name} ${cutMiddle(JSON.stringify(block.input), tool)}`;
    case 'tool_result':
      if (!echoes && ECHO.test(block.toolName)) return '';
      return `${block.isError ? 'error' : 'result'} of ${block.toolName}: ${cutMiddle(messageText({ content: block.output }), tool)}`;
    case 'file':
      return `[file ${block.filename ?? block.mediaType}]`;
    case 'opaque':
    case 'thinking':
      return '';
  }
}

/** Returns the beginning and the end of a text. */
export function cutMiddle(text: string, length: number, gap = ' […] '): string {
  if (text.length <= length) return text;
  const half = Math.floor(length / 2);
  return `${headOf(text, half)}${gap}${tailOf(text, half)}`;
}

/** Returns the beginning of a text, the number of omitted characters, and how to read on from an offset (UTF-16 units). */
export function cut(text: string, maxChars: number, advice: (from: number) => string = () => ''): string {
  if (text.length <= maxChars) return text;
  const head = headOf(text, maxChars);
  return `${head}… [${text.length - head.length} more characters${advice(head.length)}]`;
}

/** Returns the first texts that fit into a result, at least one if there are any. */
export function fitting(texts: readonly string[], maxChars: number, separator = '\n'): string[] {
  let chars = 0;
  const end = texts.findIndex((text, index) => {
    chars += text.length + separator.length;
    return index > 0 && chars > maxChars;
  });
  return texts.slice(0, end < 0 ? texts.length : end);
}

/** Returns one line of about `maxChars` characters around the first occurrence of a term. */
export function excerpt(text: string, terms: readonly { readonly text: string }[], maxChars: number): string {
  const lower = text.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term.text)).filter((place) => place >= 0);
  // In rare scripts, lower case can be longer or shorter than the text by a few characters. An excerpt tolerates that.
  const start = Math.max(0, Math.min(...places, text.length) - Math.floor(maxChars / 3));
  const from = places.length === 0 || start === 0 ? text : tailOf(text, text.length - start);
  const head = headOf(from, maxChars);
  const line = head.replaceAll(LINE_BREAK, ' ').replace(/\s+/g, ' ').trim();
  return `${from === text ? '' : '…'}${line}${head.length < from.length ? '…' : ''}`;
}

/** Shortens a text to estimated tokens: keeps whole lines of its beginning and end, with a note between. */
export function fitTokens(
  text: string,
  maxTokens: number,
  note: string,
  kept: 'beginning' | 'both-ends' = 'both-ends',
): string {
  if (estimateCounter.count(text) <= maxTokens) return text;
  const left = Math.max(0, maxTokens - estimateCounter.count(note));
  const head = longest(text, kept === 'beginning' ? left : Math.floor(left / 2), headOf);
  const headLines = (head.slice(0, head.lastIndexOf('\n') + 1) || head).trimEnd();
  if (kept === 'beginning') return `${headLines}\n${note}`;
  const tail = longest(text, Math.floor(left / 2), tailOf);
  const tailLines = (tail.slice(tail.indexOf('\n') + 1) || tail).trimStart();
  return `${headLines}\n${note}\n${tailLines}`;
}

function longest(text: string, maxTokens: number, part: typeof headOf): string {
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (estimateCounter.count(part(text, middle)) <= maxTokens) low = middle;
    else high = middle - 1;
  }
  return part(text, low);
}
