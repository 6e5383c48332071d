import {
  assistantMessage,
  type ContentBlock,
  type Message,
  type ToolResultBlock,
  type ToolUseBlock,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { jsonText } from '@x/core/internal';
import type { RecordedCompaction, RecordedConversation, RecordedUsage } from '../conversation.js';

type Usage = Omit<RecordedUsage, 'index'>;

type Result = ToolResultBlock & {
  readonly createdAt: string;
  /** The index of the turn after the result. */
  readonly beforeTurn: number;
};

/** Properties of a log entry other than its content. */
export interface EntryInfo {
  readonly at?: string | undefined;
  /** The id that all fragments of one model answer have. Without ids, adjacent fragments are one answer. */
  readonly answer?: string | undefined;
  /** Tests if a text with the user's role was typed by the user, not written by a program. Default: always true. */
  wasTyped?(text: string): boolean;
}

interface Turn {
  readonly role: 'user' | 'assistant';
  /** `true` if the turn has the user's role, but a program wrote it. */
  readonly isSynthetic?: boolean;
  readonly blocks: ContentBlock[];
  readonly createdAt: string;
  readonly answer?: string | undefined;
  usage?: Usage;
}

/** Tool name of a call whose name the log lacks. */
const UNNAMED = 'unknown';
/** Id of a call whose id is empty. Sessions reject empty ids. */
const NO_ID = 'call';
const NO_RESULT = '[The recording holds no result of this call.]';
/** Timestamp of messages in logs without timestamps. */
const EPOCH = '1970-01-01T00:00:00.000Z';

/**
 * Builds a conversation from the entries that an importer reads. Fragments of one answer become one message. Every result directly follows
 * its call, even if the log has another order.
 */
export class ConversationBuilder {
  readonly #format: string;
  readonly #turns: Turn[] = [];
  readonly #results = new Map<string, Result>();
  /** Maps the id of a call in the log to the ids in the conversation. There is one for each content of a call with this id. */
  readonly #calls = new Map<string, Map<string, string>>();
  /** Maps the id of a call in the log to the id in the conversation of the last call with this id. */
  readonly #lastIds = new Map<string, string>();
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

  /** Adds the content of a message. Tool results may be in messages of any role. */
  message(role: string, blocks: readonly ContentBlock[], info: EntryInfo = {}): void {
    const others: ContentBlock[] = [];
    for (const block of blocks) {
      if (block.type === 'tool_result') this.#result(block, info);
      else if (!isEmpty(block)) others.push(block.type === 'tool_use' ? this.#call(block, info) : block);
    }
    if (others.length === 0) return;
    if (role === 'system' || role === 'developer')
      this.system(others.map((block) => (block.type === 'text' ? block.text : '')).join('\n'));
    else if (role === 'assistant') this.#answer(others, info);
    else this.#request(others, role === 'user', info);
  }

  #answer(blocks: ContentBlock[], { at, answer }: EntryInfo): void {
    const last = this.#turns.findLast((turn) => turn.role === 'assistant');
    const isSame = answer === undefined ? this.#answerIsOpen : last?.answer === answer;
    this.#answerIsOpen = true;
    if (last !== undefined && isSame) last.blocks.push(...blocks);
    else this.#turns.push({ role: 'assistant', blocks, createdAt: at ?? EPOCH, answer });
  }

  /**
   * Adds separate messages for texts that the user typed and for texts that a program wrote. Texts of any role but the user's were written
   * by a program.
   */
  #request(blocks: readonly ContentBlock[], isUser: boolean, { at, wasTyped = () => true }: EntryInfo): void {
    this.#answerIsOpen = false;
    const createdAt = at ?? EPOCH;
    for (const [index, block] of blocks.entries()) {
      const last = index === 0 ? undefined : this.#turns.at(-1);
      const isSynthetic =
        block.type === 'text' ? !isUser || !wasTyped(block.text) : (last?.isSynthetic ?? !isUser);
      if (last?.isSynthetic === isSynthetic) last.blocks.push(block);
      else this.#turns.push({ role: 'user', isSynthetic, blocks: [block], createdAt });
    }
  }

  /** Removes the last `requests` messages that the user typed, and everything after the first of them. */
  rollBack(requests: number): void {
    const starts = this.#turns.flatMap(({ role, isSynthetic }, index) =>
      role === 'user' && !isSynthetic ? [index] : [],
    );
    const place = starts.at(-requests) ?? 0;
    for (const _ of this.#turns.splice(place)) this.unread('undone message');
    for (const [id, { beforeTurn }] of this.#results) if (beforeTurn > place) this.#results.delete(id);
    this.#answerIsOpen = false;
  }

  /**
   * Returns the call with a unique id, because some models reuse ids. If an answered call with another input, or in another answer, has the
   * same id, this call and its result get a new id.
   */
  #call(block: ToolUseBlock, { answer = '' }: EntryInfo): ToolUseBlock {
    const { id: given, name, input } = block;
    const id = given || NO_ID;
    const known = this.#calls.get(id) ?? new Map<string, string>();
    const content = jsonText([answer, name, input]);
    const isAnswered = this.#results.has(this.#lastIds.get(id) ?? id);
    const isNew = known.size > 0 && isAnswered && !known.has(content);
    const own = known.get(content) ?? (isNew ? `${id}_${known.size + 1}` : (this.#lastIds.get(id) ?? id));
    this.#calls.set(id, known.set(content, own));
    this.#lastIds.set(id, own);
    return { ...block, id: own };
  }

  /** Stores the result of a call. The log may have the result before the call. If it has several, the first one counts. */
  #result(block: ToolResultBlock, { at }: EntryInfo): void {
    this.#answerIsOpen = false;
    const id = block.toolUseId || NO_ID;
    const toolUseId = this.#lastIds.get(id) ?? id;
    if (this.#results.has(toolUseId)) return;
    this.#results.set(toolUseId, {
      ...block,
      toolUseId,
      createdAt: at ?? EPOCH,
      beforeTurn: this.#turns.length,
    });
  }

  /** Sets the usage of the last answer, in tokens. `uncached` excludes input that was read from a cache. */
  usage(uncached: number, outputTokens: number, cachedInputTokens = 0, cacheWriteTokens = 0): void {
    const last = this.#turns.findLast((turn) => turn.role === 'assistant');
    const inputTokens = Math.max(0, uncached);
    if (last !== undefined) last.usage = { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens };
  }

  compaction(about: Omit<RecordedCompaction, 'beforeIndex'> = {}): void {
    this.#answerIsOpen = false;
    this.#compactions.push({ beforeTurn: this.#turns.length, about });
  }

  unread(reason: string): void {
    this.#unread.set(reason, (this.#unread.get(reason) ?? 0) + 1);
  }

  /** Returns the conversation. If a call has no result, a placeholder is added. If a result has no call, a call without input is added. */
  build(): RecordedConversation {
    const messages: Message[] = [];
    const usage: RecordedUsage[] = [];
    const starts: number[] = [];
    const answered = new Set<string>();
    const orphans = this.#orphans();
    for (const [index, turn] of [...this.#turns, undefined].entries()) {
      starts.push(messages.length);
      while (orphans[0] !== undefined && orphans[0].beforeTurn <= index) {
        const { toolUseId: id, toolName, createdAt } = orphans.shift() as Result;
        const call = { type: 'tool_use', id, name: toolName || UNNAMED, input: {} } as const;
        messages.push(assistantMessage([call], { id: idAt(messages.length), createdAt }));
        messages.push(this.#resultOf(call, messages.length, createdAt));
      }
      if (turn === undefined) break;
      if (turn.usage !== undefined) usage.push({ index: messages.length, ...turn.usage });
      const blocks = turn.blocks.filter((block) => {
        if (block.type !== 'tool_use') return true;
        const isFirst = !answered.has(block.id);
        answered.add(block.id);
        if (!isFirst) this.unread('duplicate call');
        return isFirst;
      });
      if (blocks.length === 0) continue;
      const options = { id: idAt(messages.length), createdAt: turn.createdAt };
      const kind = turn.isSynthetic ? { kind: 'synthetic' as const } : {};
      const message =
        turn.role === 'user'
          ? userMessage(blocks, { ...options, ...kind })
          : assistantMessage(blocks, options);
      messages.push(message);
      for (const block of blocks) {
        if (block.type !== 'tool_use') continue;
        messages.push(this.#resultOf(block, messages.length, turn.createdAt));
      }
    }
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

  /** Returns the results whose calls are not in the log, in the order of the log. */
  #orphans(): Result[] {
    const calls = new Set(
      this.#turns.flatMap(({ blocks }) =>
        blocks.flatMap((block) => (block.type === 'tool_use' ? block.id : [])),
      ),
    );
    return [...this.#results.values()].filter(({ toolUseId }) => !calls.has(toolUseId));
  }

  #resultOf(call: { readonly id: string; readonly name: string }, index: number, askedAt: string): Message {
    const found = this.#results.get(call.id);
    return toolResultMessage(call, found?.output ?? NO_RESULT, {
      id: idAt(index),
      createdAt: found?.createdAt ?? askedAt,
      isError: found?.isError ?? true,
    });
  }
}

/** Returns a message id that is the same in every import. It is as long as a live agent's id, because stubs of removed messages contain ids. */
function idAt(index: number): string {
  return `recorded-0000-0000-0000-${String(index).padStart(12, '0')}`;
}

function isEmpty(block: ContentBlock): boolean {
  return (block.type === 'text' && block.text === '') || (block.type === 'thinking' && block.thinking === '');
}
