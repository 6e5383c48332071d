import { type ContentBlock, type Message, type ToolResultBlock, textOf } from '@x/core';

/** Messages in the form of the conventions' JSON schemas, as the text of an attribute. */
export function messagesJson(messages: readonly Message[]): string {
  return JSON.stringify(messages.map(({ role, content }) => ({ role, parts: content.map(partOf) })));
}

/** An answer, likewise. */
export function answerJson(content: readonly ContentBlock[], finishReason: string): string {
  return JSON.stringify([{ role: 'assistant', parts: content.map(partOf), finish_reason: finishReason }]);
}

export function instructionsJson(system: string): string {
  return JSON.stringify([{ type: 'text', content: system }]);
}

export function resultText(result: ToolResultBlock): string {
  return textOf([result]);
}

function partOf(block: ContentBlock): object {
  switch (block.type) {
    case 'text':
      return { type: 'text', content: block.text };
    case 'thinking':
      return { type: 'reasoning', content: block.thinking };
    case 'tool_use':
      return { type: 'tool_call', id: block.id, name: block.name, arguments: block.input };
    case 'tool_result':
      return { type: 'tool_call_response', id: block.toolUseId, response: resultText(block) };
    // Bytes have no place in a trace; that there was a file has.
    case 'file':
      return { type: 'file', mime_type: block.mediaType };
    case 'opaque':
      return { type: 'opaque', provider: block.provider };
  }
}
