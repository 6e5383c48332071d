import { type ContentBlock, type Message, type Redact, redactJson } from '@x/core';
import type { Ledger } from '../ledger/ledger.js';

/** The message with secrets taken out of its texts; the very same message where there are none. */
export function redactMessage(message: Message, redact: Redact): Message {
  let content: ContentBlock[] | undefined;
  message.content.forEach((block, index) => {
    const redacted = redactBlock(block, redact);
    if (redacted === block) return;
    content ??= [...message.content];
    content[index] = redacted;
  });
  return content ? { ...message, content } : message;
}

/** The ledger with secrets taken out; names that are secrets are forgotten. */
export function redactLedger(ledger: Ledger, redact: Redact): Ledger {
  const { mentions, ...rest } = ledger;
  const redacted = redactJson(rest as never, redact) as unknown as typeof rest;
  return { ...redacted, mentions: mentions.filter(({ token }) => redact(token) === token) };
}

function redactBlock(block: ContentBlock, redact: Redact): ContentBlock {
  switch (block.type) {
    case 'text': {
      const text = redact(block.text);
      return text === block.text ? block : { ...block, text };
    }
    case 'tool_use': {
      const input = redactJson(block.input, redact);
      return input === block.input ? block : { ...block, input };
    }
    case 'tool_result': {
      const output = block.output.map((part) => redactBlock(part, redact) as typeof part);
      return output.some((part, index) => part !== block.output[index]) ? { ...block, output } : block;
    }
    // Thinking and provider items are never shown to a summariser; of files only the name is.
    case 'thinking':
    case 'opaque':
    case 'file':
      return block;
  }
}
