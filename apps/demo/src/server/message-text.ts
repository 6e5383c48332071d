import type { Message, ToolResultBlock } from '@x/core';

/** What a message says, tool outputs included, thinking left out. */
export function textOf(message: Message): string {
  return message.content
    .flatMap((block) => {
      if (block.type === 'text') return [block.text];
      if (block.type === 'tool_result') return [outputOf(block)];
      if (block.type === 'tool_use') return [`${block.name} ${JSON.stringify(block.input)}`];
      return [];
    })
    .join('\n');
}

/** A tool's output as text; what is no text is named. */
export function outputOf(result: ToolResultBlock): string {
  return result.output
    .map((block) => (block.type === 'text' ? block.text : `[${block.filename ?? block.mediaType}]`))
    .join('\n');
}

/** The beginning of a text in one line. */
export function firstLine(text: string, length = 160): string {
  return text
    .slice(0, length * 2)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, length);
}
