import {
  type ContextUsage,
  countMessage,
  countSystem,
  countTool,
  type Message,
  type TokenCounter,
  type ToolDefinition,
} from '@x/core';

/**
 * Measures what fills the window, by source. Remembers what it has counted, so that a step costs what it added: as long
 * as the list only grew, only the new messages are counted.
 */
export class ContextMeter {
  readonly #counter: TokenCounter;
  readonly #seen: Message[] = [];
  #totals = { summary: 0, conversation: 0, toolResults: 0 };
  #system: { text: string; tokens: number } = { text: '', tokens: 0 };
  #tools: { list: readonly ToolDefinition[]; tokens: number } = { list: [], tokens: 0 };

  constructor(counter: TokenCounter) {
    this.#counter = counter;
  }

  measure(view: {
    readonly system: string;
    readonly tools: readonly ToolDefinition[];
    readonly context: readonly Message[];
    readonly reminders: readonly Message[];
    readonly contextWindow: number | undefined;
  }): ContextUsage {
    if (view.system !== this.#system.text) {
      this.#system = { text: view.system, tokens: countSystem(this.#counter, view.system) };
    }
    if (view.tools !== this.#tools.list) {
      this.#tools = { list: view.tools, tokens: sum(view.tools, (tool) => countTool(this.#counter, tool)) };
    }
    this.#follow(view.context);
    const parts = {
      system: this.#system.tokens,
      tools: this.#tools.tokens,
      ...this.#totals,
      reminders: sum(view.reminders, (message) => countMessage(this.#counter, message)),
    };
    const total = sum(Object.values(parts), (tokens) => tokens);
    return { ...parts, total, contextWindow: view.contextWindow };
  }

  #follow(context: readonly Message[]): void {
    const isPrefix =
      this.#seen.length <= context.length && this.#seen.every((message, i) => message === context[i]);
    if (!isPrefix) {
      this.#seen.length = 0;
      this.#totals = { summary: 0, conversation: 0, toolResults: 0 };
    }
    for (let index = this.#seen.length; index < context.length; index++) {
      const message = context[index] as Message;
      const tokens = countMessage(this.#counter, message);
      if (message.kind === 'summary') this.#totals.summary += tokens;
      else if (message.role === 'tool') this.#totals.toolResults += tokens;
      else this.#totals.conversation += tokens;
      this.#seen.push(message);
    }
  }
}

function sum<Item>(items: readonly Item[], weight: (item: Item) => number): number {
  let total = 0;
  for (const item of items) total += weight(item);
  return total;
}
