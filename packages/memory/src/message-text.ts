import { type ContentBlock, headOf, type Message, tailOf } from '@x/core';

/** Tools whose calls and results only repeat what stands elsewhere. */
const ECHOES = new Set([
  'session_list',
  'session_history',
  'session_search',
  'query_history',
  'memory_search',
]);

/** All that a message says: text, tool calls with their input, tool results. Thinking is left out. */
export function messageText(message: Message): string {
  return textOfBlocks(message.content);
}

/** The same without what would make a search find itself. */
export function searchableText(message: Message): string {
  return textOfBlocks(message.content.filter((block) => !isEcho(block)));
}

function isEcho(block: ContentBlock): boolean {
  if (block.type === 'tool_use') return ECHOES.has(block.name);
  return block.type === 'tool_result' && ECHOES.has(block.toolName);
}

function textOfBlocks(blocks: readonly ContentBlock[]): string {
  return blocks
    .map(blockText)
    .filter((text) => text !== '')
    .join('\n');
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'tool_use':
      return `call ${block.name} ${JSON.stringify(block.input)}`;
    case 'tool_result': {
      const output = block.output.map(blockText).join('\n');
      return `${block.isError ? 'error' : 'result'} of ${block.toolName}: ${output}`;
    }
    case 'file':
      return `[file ${block.filename ?? block.mediaType}]`;
    case 'opaque':
    case 'thinking':
      return '';
  }
}

/**
 * The beginning of a text, and how much was left out.
 *
 * @param advice Says how to read the rest, from a number of UTF-16 units on.
 */
export function cut(text: string, maxChars: number, advice: (from: number) => string = () => ''): string {
  if (text.length <= maxChars) return text;
  const head = headOf(text, maxChars);
  return `${head}… [${text.length - head.length} more characters${advice(head.length)}]`;
}

/** One line of at most about `maxChars` around the first place where a term stands. */
export function excerpt(text: string, terms: readonly { readonly text: string }[], maxChars: number): string {
  const lower = text.toLowerCase();
  const places = terms.map((term) => lower.indexOf(term.text)).filter((place) => place >= 0);
  // Lower case may be longer or shorter than the text by a character or two in rare scripts: an excerpt bears it.
  const start = Math.max(0, Math.min(...places, text.length) - Math.floor(maxChars / 3));
  const from = places.length === 0 || start === 0 ? text : tailOf(text, text.length - start);
  const head = headOf(from, maxChars);
  const line = head.replace(/\s+/g, ' ').trim();
  return `${from === text ? '' : '…'}${line}${head.length < from.length ? '…' : ''}`;
}
