import { commonPrefix, type Message } from '../messages/message.js';
import type { ToolDefinition } from '../model/model.js';
import { countMessage, countMessages, countSystem, countTool, type TokenCounter } from './count-tokens.js';

/** Tokens of a request by source: in provider tokens once usage reports have shown the ratio, else by the local counter. */
export interface ContextUsage {
  readonly system: number;
  /** Tokens of the tools' definitions. */
  readonly tools: number;
  /** Tokens of the summary of earlier messages. */
  readonly summary: number;
  /** Tokens of all other messages, except tool results. */
  readonly conversation: number;
  readonly toolResults: number;
  readonly reminders: number;
  /** The sum of all sources. */
  readonly total: number;
  /** The model's context window, if known. */
  readonly contextWindow?: number | undefined;
}

const EMPTY = { summary: 0, conversation: 0, toolResults: 0 };

/** A request before it is sent. */
export interface MeasuredRequest {
  readonly system?: string | undefined;
  readonly tools?: readonly ToolDefinition[] | undefined;
  readonly context: readonly Message[];
  readonly reminders?: readonly Message[] | undefined;
  readonly contextWindow?: number | undefined;
  /** Provider tokens per token of the counter. Default 1. */
  readonly ratio?: number | undefined;
}

/**
 * Measures the context window's content by source. Each step only counts additions: the messages of a conversation that only grew are
 * counted once, tools once, and the system prompt when it changes.
 */
export class ContextMeter {
  readonly #counter: TokenCounter;
  readonly #observe: ((message: Message, index: number) => void) | undefined;
  readonly #seen: Message[] = [];
  #totals = { ...EMPTY };
  #system = { text: '', tokens: 0 };

  /** @param observe Receives every counted message, and all messages from index 0 again if the conversation was rewritten. */
  constructor(counter: TokenCounter, observe?: (message: Message, index: number) => void) {
    this.#counter = counter;
    this.#observe = observe;
  }

  /** Counts the tokens of a request by source. */
  measure({
    system = '',
    tools = [],
    context,
    reminders = [],
    contextWindow,
    ratio = 1,
  }: MeasuredRequest): ContextUsage {
    if (system !== this.#system.text) {
      this.#system = { text: system, tokens: countSystem(this.#counter, system) };
    }
    this.conversation(context);
    const scaled = (tokens: number) => Math.round(tokens * ratio);
    const parts = {
      system: scaled(this.#system.tokens),
      tools: scaled(tools.reduce((total, tool) => total + countTool(this.#counter, tool), 0)),
      summary: scaled(this.#totals.summary),
      conversation: scaled(this.#totals.conversation),
      toolResults: scaled(this.#totals.toolResults),
      reminders: scaled(countMessages(this.#counter, reminders)),
    };
    return { ...parts, total: Object.values(parts).reduce((sum, part) => sum + part, 0), contextWindow };
  }

  /** Returns the messages that will probably be counted next. A caller can count them in advance, in several pieces. */
  unseen(context: readonly Message[]): readonly Message[] {
    const { length } = this.#seen;
    return length > 0 && context[length - 1] === this.#seen[length - 1] ? context.slice(length) : context;
  }

  /** Counts the tokens of the conversation only. */
  conversation(context: readonly Message[]): number {
    const seen = this.#seen;
    if (commonPrefix(seen, context) < seen.length) {
      seen.length = 0;
      this.#totals = { ...EMPTY };
    }
    for (const message of context.slice(seen.length)) {
      const source =
        message.kind === 'summary' ? 'summary' : message.role === 'tool' ? 'toolResults' : 'conversation';
      this.#totals[source] += countMessage(this.#counter, message);
      seen.push(message);
      this.#observe?.(message, seen.length - 1);
    }
    const { summary, conversation, toolResults } = this.#totals;
    return summary + conversation + toolResults;
  }
}
