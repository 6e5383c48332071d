import { SimpleChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { type Message, type TokenCounter, textOf, toolUsesOf, userMessage } from '@x/core';
import { countMessage } from '@x/core/messages';
import type { Strategy } from '@x/replay';
import { summarizationMiddleware } from 'langchain';
import { extractiveSummary } from './extractive-summary.js';
import { stableId } from './stable-id.js';

export interface LangchainOptions {
  readonly keepMessages: number;
  /** What the summarizer is shown, in tokens. LangChain's own default is 4 000. */
  readonly trimTokensToSummarize?: number;
  /** The share of the trigger that the summary may have. */
  readonly summaryShare: number;
}

/**
 * LangChain's `summarizationMiddleware`, its hook called before each model call as its agents do, with the same trigger
 * and counter as all others, and the extractive stand-in for a language model.
 */
export function langchainStrategy({
  keepMessages,
  trimTokensToSummarize,
  summaryShare,
}: LangchainOptions): Strategy {
  return ({ counter, trigger, overhead }) => {
    const translation = new LangchainMessages(counter);
    let read = 0;
    const summaryTokens = Math.floor(trigger * summaryShare);
    const options = {
      model: new StandIn((prompt) => {
        read += counter.count(prompt);
        return extractiveSummary(prompt, summaryTokens, counter);
      }),
      // System prompt and tools are no messages: LangChain does not count them.
      trigger: { tokens: trigger - overhead },
      keep: { messages: keepMessages },
      tokenCounter: (messages: BaseMessage[]) => translation.count(messages),
      ...(trimTokensToSummarize === undefined ? {} : { trimTokensToSummarize }),
    };
    // The type of its options comes out as `never` under TypeScript's strictest settings.
    const { beforeModel } = summarizationMiddleware(options as never);
    if (typeof beforeModel !== 'function')
      throw new Error('summarizationMiddleware has no beforeModel function');

    return async (messages) => {
      read = 0;
      const state = { messages: messages.map((message) => translation.toLangchain(message)) };
      const update: unknown = await beforeModel(state as never, { context: {} } as never);
      const replaced = (update as { readonly messages?: readonly BaseMessage[] } | undefined)?.messages;
      if (!replaced) return undefined;
      // The first one only says that all others go.
      const after = replaced.slice(1).map((message) => translation.fromLangchain(message));
      const staying = new Set(after);
      const manifest = messages
        .filter((message) => !staying.has(message))
        .map(({ id }) => ({ messageId: id, fate: 'summarized' as const, reducer: 'langchain' }));
      return { messages: after, manifest, summarizerTokens: read };
    };
  };
}

/** A chat model of LangChain's that a function answers for. */
class StandIn extends SimpleChatModel {
  readonly #answer: (prompt: string) => string;

  constructor(answer: (prompt: string) => string) {
    super({});
    this.#answer = answer;
  }

  override _llmType(): string {
    return 'stand-in';
  }

  override async _call(messages: BaseMessage[]): Promise<string> {
    return this.#answer(messages.map((message) => message.text).join('\n'));
  }
}

/** Translates messages to LangChain's and back, one for one: what comes back unchanged is the same object as before. */
class LangchainMessages {
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
