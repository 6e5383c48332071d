import { type ContentBlock, headOf, type Message, tailOf } from '@x/core';

/** UTF-16 units of what somebody said, and of what went to and came from a tool. */
const SPOKEN_LENGTH = 8_000;
const TOOL_LENGTH = 500;
/** Tools whose calls and results repeat what is remembered already. */
const ECHO = /^(?:memory_|session_(?:list|history|search)$|query_history$)/;

/** A message as a part of a transcript; empty when it says nothing. Thinking is left out. */
export function renderMessage({ role, createdAt, content }: Message): string {
  const text = content.map(renderBlock).filter(Boolean).join('\n');
  return text === '' ? '' : `[${createdAt.slice(0, 10)} ${role}] ${text}`;
}

function renderBlock(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return cutMiddle(block.text.trim(), SPOKEN_LENGTH);
    case 'tool_use':
      return ECHO.test(block.name)
        ? ''
        : `call ${block.name} ${cutMiddle(JSON.stringify(block.input), TOOL_LENGTH)}`;
    case 'tool_result': {
      if (ECHO.test(block.toolName)) return '';
      const output = block.output.map(renderBlock).filter(Boolean).join('\n');
      return `${block.isError ? 'error' : 'result'} of ${block.toolName}: ${cutMiddle(output, TOOL_LENGTH)}`;
    }
    case 'file':
      return `[file ${block.filename ?? block.mediaType}]`;
    case 'thinking':
    case 'opaque':
      return '';
  }
}

function cutMiddle(text: string, length: number): string {
  if (text.length <= length) return text;
  const half = Math.floor(length / 2);
  return `${headOf(text, half)} […] ${tailOf(text, half)}`;
}
