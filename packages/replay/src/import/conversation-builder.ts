import {
  assistantMessage,
  type ContentBlock,
  type Message,
  type ToolResultBlock,
  toolResultMessage,
  userMessage,
} from '@x/core';
import type { MessageOptions } from '@x/core/messages';
import type { RecordedCompaction, RecordedConversation, RecordedUsage } from '../conversation.js';

type Usage = Omit<RecordedUsage, 'index'>;

type Result = Pick<ToolResultBlock, 'output' | 'isError'> & { readonly createdAt: string };

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

  /** Adds what a message holds: results of calls, and what else was said in a role. */
  message(role: string, blocks: readonly ContentBlock[], placed: Placed = {}): void {
    for (const block of blocks) if (block.type === 'tool_result') this.#result(block, placed);
    const said = blocks.filter((block) => block.type !== 'tool_result' && !isEmpty(block));
    if (role === 'system' || role === 'developer')
      this.system(said.map((block) => (block.type === 'text' ? block.text : '')).join('\n'));
    else if (said.length > 0) this.#turn(role === 'assistant' ? role : 'user', said, placed);
  }

  #turn(role: Turn['role'], blocks: ContentBlock[], { at, answer }: Placed): void {
    const last = this.#turns.findLast((turn) => turn.role === 'assistant');
    const isSame = answer === undefined ? this.#answerIsOpen : last?.answer === answer;
    this.#answerIsOpen = role === 'assistant';
    if (last !== undefined && isSame && role === 'assistant') last.blocks.push(...blocks);
    else this.#turns.push({ role, blocks, createdAt: at ?? BEGINNING, answer });
  }

  /** The result of a call, before or after it. The first one counts. */
  #result({ toolUseId, output, isError }: ToolResultBlock, { at }: Placed): void {
    this.#answerIsOpen = false;
    if (this.#results.has(toolUseId)) return;
    this.#results.set(toolUseId, { output, isError, createdAt: at ?? BEGINNING });
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

function isEmpty(block: ContentBlock): boolean {
  return (block.type === 'text' && block.text === '') || (block.type === 'thinking' && block.thinking === '');
}
