import type { ContentBlock, Message } from '@x/core';

const texts = new WeakMap<Message, string>();

/** All that a model reads of a message: text, tool names and inputs as JSON, outputs. Built once per message. */
export function contextText(message: Message): string {
  let text = texts.get(message);
  if (text === undefined) {
    text = message.content.map(blockText).join('\n');
    texts.set(message, text);
  }
  return text;
}

/** Whether a token stands literally somewhere in a context. The newest messages are looked at first. */
export function holdsToken(messages: readonly Message[], token: string): boolean {
  return messages.findLastIndex((message) => contextText(message).includes(token)) >= 0;
}

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
