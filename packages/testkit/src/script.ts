import type { ContentBlock, FinishReason, JsonObject, JsonValue, ModelRequest, Usage } from '@x/core';
import { lastInput } from './describe-request.js';

/** A tool call in a scripted answer. */
export interface ScriptedToolCall {
  /** Name of the tool. */
  readonly name: string;
  readonly input: JsonValue;
  /** Default: `call_1`, `call_2`, … counted over all answers of the model. Ids that the request already contains are skipped. */
  readonly id?: string | undefined;
}

/** One answer of the model, in the order thinking, text, content, tool calls. A whole `ModelResponse` is also an answer. */
export interface ScriptedAnswer {
  readonly thinking?: string | undefined;
  readonly text?: string | undefined;
  /** The chunks of text that `stream` yields. Use it instead of `text`, which is streamed word by word. */
  readonly chunks?: readonly string[] | undefined;
  /** Blocks of any kind, returned unchanged. */
  readonly content?: readonly ContentBlock[] | undefined;
  readonly toolCalls?: readonly ScriptedToolCall[] | undefined;
  /** Default: `tool-calls` if the answer has a tool call, otherwise `stop`. */
  readonly finishReason?: FinishReason | undefined;
  /** Default: counted from request and answer. `'none'`: the response has no usage, as with some providers. */
  readonly usage?: Usage | 'none' | undefined;
  readonly providerMetadata?: JsonObject | undefined;
  /** Thrown instead of answering. */
  readonly error?: unknown;
  /**
   * Interrupts the answer: `stream` yields this many deltas and then throws `error`, by default a retryable `ModelError`. `generate` throws
   * at once.
   */
  readonly errorAfter?: number | undefined;
}

/** An answer, or a function that creates it from the request. */
type ScriptedReply = ScriptedAnswer | ((request: ModelRequest) => ScriptedAnswer | Promise<ScriptedAnswer>);

/** A reply for the calls that it matches, in any order. */
interface ScriptedMatcher {
  /**
   * A predicate, or a pattern for the text of the last user or tool message. Messages of kind `synthetic`, which the harness
   * injects, are ignored.
   */
  readonly when: RegExp | ((request: ModelRequest) => boolean);
  readonly reply: ScriptedReply;
  /** Number of calls that it answers. `assertComplete` requires all of them. Default 1. `Infinity`: any number of calls, or none. */
  readonly times?: number | undefined;
}

/** One entry of a script: a reply for the next call in order, or a matcher. */
export type ScriptEntry = ScriptedReply | ScriptedMatcher;

/** The remaining entries of a script. Matchers are tried first, in their order. A request that no matcher matches gets the next reply. */
export class Script {
  readonly #replies: ScriptedReply[] = [];
  readonly #matchers: { readonly matcher: ScriptedMatcher; left: number }[] = [];

  constructor(entries: readonly ScriptEntry[]) {
    for (const entry of entries) {
      if (isMatcher(entry)) this.#matchers.push({ matcher: entry, left: entry.times ?? 1 });
      else this.#replies.push(entry);
    }
  }

  /** Removes the reply to a request from the script and returns it; `undefined` if there is none. */
  take(request: ModelRequest): ScriptedReply | undefined {
    const found = this.#matchers.find(({ matcher, left }) => left > 0 && matches(matcher, request));
    if (found === undefined) return this.#replies.shift();
    found.left--;
    return found.matcher.reply;
  }

  /** The number of replies that must still be requested. */
  get remaining(): number {
    let total = this.#replies.length;
    for (const { left } of this.#matchers) if (Number.isFinite(left)) total += left;
    return total;
  }

  /** Describes the remaining entries. */
  describe(): string {
    const parts = [`${this.#replies.length} in order`];
    for (const { matcher, left } of this.#matchers) {
      const when = matcher.when instanceof RegExp ? String(matcher.when) : 'a predicate';
      if (left > 0) parts.push(`${Number.isFinite(left) ? left : 'any number'} for ${when}`);
    }
    return parts.join(', ');
  }
}

function isMatcher(entry: ScriptEntry): entry is ScriptedMatcher {
  return 'when' in entry;
}

function matches({ when }: ScriptedMatcher, request: ModelRequest): boolean {
  if (typeof when === 'function') return when(request);
  // `search` ignores the position that a global pattern remembers.
  return lastInput(request).search(when) >= 0;
}
