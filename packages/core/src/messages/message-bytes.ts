import { jsonText } from '../lib/json.js';
import { memoize } from '../lib/memoize.js';
import type { ContentBlock } from './content-block.js';
import { encodedBytes } from './media.js';
import type { Message } from './message.js';

const bytesOf = memoize((message: Message) =>
  message.content.reduce((sum, block) => sum + blockBytes(block), 0),
);

/**
 * Estimates the bytes of messages in a request: one per UTF-16 unit of texts, arguments and encoded files. The count is cached per message
 * object.
 */
export function messageBytes(messages: Iterable<Message>): number {
  let total = 0;
  for (const message of messages) total += bytesOf(message);
  return total;
}

/** Estimates the bytes of a block in a request. */
export function blockBytes(block: ContentBlock): number {
  switch (block.type) {
    case 'text':
      return block.text.length;
    case 'thinking':
      return block.thinking.length;
    case 'file':
      return encodedBytes(block)?.length ?? 0;
    case 'tool_use':
      return jsonText(block.input).length;
    case 'tool_result':
      return block.output.reduce((sum, part) => sum + blockBytes(part), 0);
    case 'opaque':
      return jsonText(block.data).length;
  }
}
