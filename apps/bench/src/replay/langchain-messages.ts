import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { countMessage, type Message, type TokenCounter, textOf, toolUsesOf, userMessage } from '@x/core';
import { stableId } from './stable-id.js';

/** Translates messages to LangChain's and back, one for one: what comes back unchanged is the same object as before. */
export class LangchainMessages {
  readonly #counter: TokenCounter;
  readonly #theirs = new WeakMap<Message, BaseMessage>();
  readonly #ours = new WeakMap<BaseMessage, Message>();

  constructor(counter: TokenCounter) {
    this.#counter = counter;
  }

  toLangchain(message: Message): BaseMessage {
    let translated = this.#theirs.get(message);
    if (translated === undefined) {
      translated = translate(message);
      this.#remember(message, translated);
    }
    return translated;
  }

  /** A message that LangChain made itself is a summary. */
  fromLangchain(message: BaseMessage): Message {
    let translated = this.#ours.get(message);
    if (translated === undefined) {
      translated = userMessage(message.text, { kind: 'summary', id: stableId(message.text) });
      this.#remember(translated, message);
    }
    return translated;
  }

  /** As everything else counts here. LangChain also asks for parts of messages, which it made itself. */
  count(messages: readonly BaseMessage[]): number {
    let total = 0;
    for (const message of messages) {
      const known = this.#ours.get(message);
      total += known ? countMessage(this.#counter, known) : this.#counter.count(message.text);
    }
    return total;
  }

  #remember(ours: Message, theirs: BaseMessage): void {
    this.#theirs.set(ours, theirs);
    this.#ours.set(theirs, ours);
  }
}

function translate(message: Message): BaseMessage {
  const { id, role, content } = message;
  const text = textOf(message);
  if (role === 'assistant') {
    const calls = toolUsesOf(message).map((call) => ({
      id: call.id,
      name: call.name,
      args: call.input as Record<string, unknown>,
    }));
    return new AIMessage({ id, content: text, tool_calls: calls });
  }
  const result = content.find((block) => block.type === 'tool_result');
  if (result) {
    return new ToolMessage({ id, content: text, tool_call_id: result.toolUseId, name: result.toolName });
  }
  return new HumanMessage({ id, content: text });
}
