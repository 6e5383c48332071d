import { type Message, type ModelRequest, textOf } from '@x/core';
import { headOf } from '@x/core/internal';

const EXCERPT_LENGTH = 200;

/** Returns the text of the last user or tool message that is not of kind `synthetic`. Empty if there is none. */
export function lastInput(request: ModelRequest): string {
  const last = request.messages.findLast(
    (message) => (message.role === 'user' || message.role === 'tool') && message.kind !== 'synthetic',
  );
  return last === undefined ? '' : textOf(last);
}

/** Describes a request in a few lines, for error messages. */
export function describeRequest(request: ModelRequest): string {
  const { system, messages, tools } = request;
  const names = tools.map((tool) => tool.name).join(', ');
  const last = messages.at(-1);
  return [
    `${messages.length} message${messages.length === 1 ? '' : 's'}, tools: ${names || 'none'}`,
    ...(system ? [`system: ${excerpt(system)}`] : []),
    ...(last === undefined ? [] : [`last message (${last.role}): ${excerpt(describeMessage(last))}`]),
  ].join('\n  ');
}

function describeMessage(message: Message): string {
  const text = textOf(message);
  return text || message.content.map((block) => `[${block.type}]`).join(' ');
}

function excerpt(text: string): string {
  const head = headOf(text, EXCERPT_LENGTH);
  return JSON.stringify(head.length < text.length ? `${head}…` : head);
}
