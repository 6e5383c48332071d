import {
  type AgentState,
  type ContextUsage,
  countMessage,
  headOf,
  type Message,
  type TokenCounter,
} from '@x/core';
import type { WindowMessage, WindowView } from '../server/inspection.js';

/** Shows the next request to the model, message by message. */
export function windowView(
  state: AgentState,
  usage: ContextUsage | undefined,
  counter: TokenCounter,
): WindowView {
  const { system = 0, tools = 0, reminders = 0 } = usage ?? {};
  const messages = state.context.map((message) => ({
    id: message.id,
    source: sourceOf(message),
    tokens: countMessage(counter, message),
    label: labelOf(message),
  }));
  return { messages, system, tools, reminders };
}

function sourceOf(message: Message): WindowMessage['source'] {
  if (message.kind === 'summary') return 'summary';
  return message.role === 'tool' ? 'toolResults' : 'conversation';
}

function labelOf(message: Message): string {
  const words = message.content.flatMap((block) => {
    if (block.type === 'text') return [block.text];
    if (block.type === 'tool_use') return [`calls ${block.name}`];
    return block.type === 'tool_result' ? [`${block.toolName} result`] : [];
  });
  return headOf(words.join(', ').slice(0, 400).replace(/\s+/g, ' ').trim(), 120) || message.role;
}
