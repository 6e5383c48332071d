import type { ContentBlock, Message } from '@x/core';
import { memoize } from '@x/core/internal';

/** Returns what a model reads in a message: texts, tool names, inputs as JSON, and outputs. Cached by message. */
export const contextText = memoize((message: Message) => message.content.map(blockText).join('\n'));

/** Tests if a context contains the whole token. Searches the newest messages first. */
export function contextContains(messages: readonly Message[], token: string): boolean {
  return messages.findLastIndex((message) => containsWhole(contextText(message), token)) >= 0;
}

/**
 * Tests if a text contains a token that is not part of a longer word or number. In scripts without spaces, any position can be a boundary.
 * A token with quotes also matches in its JSON form, because tool inputs are JSON.
 */
export function containsWhole(text: string, token: string): boolean {
  const escaped = JSON.stringify(token).slice(1, -1);
  return occursIn(text, token) || (escaped !== token && occursIn(text, escaped));
}

function occursIn(text: string, token: string): boolean {
  for (let at = text.indexOf(token); at >= 0; at = text.indexOf(token, at + 1)) {
    const end = at + token.length;
    if (!isJoined(text, at) && !isJoined(text, end)) return true;
  }
  return false;
}

/** Tests if the characters on both sides of a position belong to one word or number. */
function isJoined(text: string, at: number): boolean {
  const [before, after] = [text.charAt(at - 1), text.charAt(at)];
  if (WORD_CHARACTER.test(before) && WORD_CHARACTER.test(after)) return true;
  return (
    DECIMAL.test(text.slice(Math.max(0, at - 2), at + 1)) ||
    DECIMAL.test(text.slice(Math.max(0, at - 1), at + 2))
  );
}

const WORD_CHARACTER =
  /^(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])[\p{L}\p{N}\p{M}_]$/u;
const DECIMAL = /^\d[.,]\d$/;

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'thinking':
      return block.thinking;
    case 'tool_use':
      return `${block.name} ${JSON.stringify(block.input)}`;
    case 'tool_result':
      return block.output.map(blockText).join('\n');
    case 'file':
      return block.filename ?? '';
    case 'opaque':
      return '';
  }
}
