import {
  assistantMessage,
  type ContentBlock,
  type Message,
  type MessageOptions,
  type ToolOutputBlock,
  toolResultMessage,
  userMessage,
} from '@x/core';
import type { RecordedCompaction, RecordedConversation, RecordedUsage } from '../conversation.js';

type Usage = Omit<RecordedUsage, 'index'>;

interface Result {
  readonly output: readonly ToolOutputBlock[];
  readonly isError: boolean;
  readonly createdAt: string;
}

/** What the log says of the place of an entry. */
export interface Placed {
  readonly at?: string | undefined;
  /** Fragments of one model answer share it. Without it, fragments that follow each other are one answer. */
  readonly answer?: string | undefined;
}

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly blocks: ContentBlock[];
  readonly createdAt: string;
  readonly answer?: string | undefined;
  usage?: Usage;
}

const NO_RESULT = '[The recording holds no result of this call.]';
/** For logs without times. */
const BEGINNING = '1970-01-01T00:00:00.000Z';

/**
 * Puts a conversation together from what importers find: answers that were logged in fragments become one message, and
 * every result stands behind its call, whatever the order in the log.
 */
export class ConversationBuilder {
  readonly #format: string;
  readonly #turns: Turn[] = [];
  readonly #results = new Map<string, Result>();
  readonly #compactions: {
    readonly beforeTurn: number;
    readonly about: Omit<RecordedCompaction, 'beforeIndex'>;
  }[] = [];
  readonly #system: string[] = [];
  readonly #unread = new Map<string, number>();
  #answerIsOpen = false;
  #id: string | undefined;
  #model: string | undefined;

  constructor(format: string) {
    this.#format = format;
  }

  identify(facts: { readonly id?: string | undefined; readonly model?: string | undefined }): void {
    this.#id ??= facts.id;
    this.#model = facts.model ?? this.#model;
  }

  system(text: string): void {
    if (text !== '' && !this.#system.includes(text)) this.#system.push(text);
  }

  user(blocks: readonly ContentBlock[], { at }: Placed = {}): void {
    if (blocks.length === 0) return;
    this.#answerIsOpen = false;
    this.#turns.push({ role: 'user', blocks: [...blocks], createdAt: at ?? BEGINNING });
  }

  assistant(blocks: readonly ContentBlock[], { at, answer }: Placed = {}): void {
    if (blocks.length === 0) return;
    const last = this.#turns.findLast((turn) => turn.role === 'assistant');
    const same = answer === undefined ? this.#answerIsOpen : last?.answer === answer;
    this.#answerIsOpen = true;
    if (last !== undefined && same) last.blocks.push(...blocks);
    else this.#turns.push({ role: 'assistant', blocks: [...blocks], createdAt: at ?? BEGINNING, answer });
  }

  /** The result of a call, before or after it. The first one counts. */
  result(
    callId: string,
    output: readonly ToolOutputBlock[],
    options: Placed & { readonly isError?: boolean } = {},
  ): void {
    this.#answerIsOpen = false;
    if (this.#results.has(callId)) return;
    this.#results.set(callId, {
      output,
      isError: options.isError ?? false,
      createdAt: options.at ?? BEGINNING,
    });
  }

  /** What the last answer was billed. */
  usage(usage: Usage): void {
    const last = this.#turns.findLast((turn) => turn.role === 'assistant');
    if (last !== undefined) last.usage = usage;
  }

  compaction(about: Omit<RecordedCompaction, 'beforeIndex'> = {}): void {
    this.#answerIsOpen = false;
    this.#compactions.push({ beforeTurn: this.#turns.length, about });
  }

  unread(reason: string): void {
    this.#unread.set(reason, (this.#unread.get(reason) ?? 0) + 1);
  }

  /** Returns the conversation. A call whose result the log lacks gets a result that says so. */
  build(): RecordedConversation {
    const messages: Message[] = [];
    const usage: RecordedUsage[] = [];
    const starts: number[] = [];
    const answered = new Set<string>();
    for (const turn of this.#turns) {
      starts.push(messages.length);
      if (turn.usage !== undefined) usage.push({ index: messages.length, ...turn.usage });
      const blocks = turn.blocks.filter((block) => block.type !== 'tool_use' || !answered.has(block.id));
      const options = { ...this.#identity(messages.length), createdAt: turn.createdAt };
      messages.push(turn.role === 'user' ? userMessage(blocks, options) : assistantMessage(blocks, options));
      for (const block of blocks) {
        if (block.type !== 'tool_use') continue;
        answered.add(block.id);
        messages.push(this.#resultOf(block, messages.length, turn.createdAt));
      }
    }
    for (const callId of this.#results.keys())
      if (!answered.has(callId)) this.unread('result without its call');
    return {
      format: this.#format,
      ...(this.#id === undefined ? {} : { id: this.#id }),
      ...(this.#model === undefined ? {} : { model: this.#model }),
      ...(this.#system.length === 0 ? {} : { system: this.#system.join('\n\n') }),
      messages,
      usage,
      compactions: this.#compactions.map(({ beforeTurn, about }) => ({
        beforeIndex: starts[beforeTurn] ?? messages.length,
        ...about,
      })),
      unread: Object.fromEntries(this.#unread),
    };
  }

  #resultOf(call: { readonly id: string; readonly name: string }, index: number, askedAt: string): Message {
    const found = this.#results.get(call.id);
    return toolResultMessage(call, found?.output ?? NO_RESULT, {
      ...this.#identity(index),
      createdAt: found?.createdAt ?? askedAt,
      isError: found?.isError ?? true,
    });
  }

  /** The same in every import, and as long as a live agent's, since stubs name it. */
  #identity(index: number): Pick<MessageOptions, 'id'> {
    return { id: `recorded-0000-0000-0000-${String(index).padStart(12, '0')}` };
  }
}
