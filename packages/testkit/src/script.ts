import type { ContentBlock, FinishReason, JsonObject, JsonValue, ModelRequest, Usage } from '@x/core';
import { lastInput } from './describe-request.js';

export interface ScriptedToolCall {
  readonly name: string;
  readonly input: JsonValue;
  /** Default: `call_1`, `call_2`, … through the model's life, without those that the request holds already. */
  readonly id?: string | undefined;
}

/**
 * One answer. The blocks come in the order thinking, text, content, tool calls. A whole `ModelResponse` is an answer too.
 */
export interface ScriptedAnswer {
  readonly thinking?: string | undefined;
  readonly text?: string | undefined;
  /** The text in the very pieces that `stream` yields. Stands instead of `text`; left out, text is streamed by words. */
  readonly chunks?: readonly string[] | undefined;
  readonly content?: readonly ContentBlock[] | undefined;
  readonly toolCalls?: readonly ScriptedToolCall[] | undefined;
  /** Default: `tool-calls` when there is a tool call, else `stop`. */
  readonly finishReason?: FinishReason | undefined;
  /** Default: counted from request and answer. `'none'` is a provider that reports no usage. */
  readonly usage?: Usage | 'none' | undefined;
  readonly providerMetadata?: JsonObject | undefined;
  /** Thrown instead of an answer. */
  readonly error?: unknown;
  /**
   * The answer breaks off: `stream` yields this many deltas and then throws `error`, by default a retryable
   * `ModelError`. `generate` throws at once.
   */
  readonly errorAfter?: number | undefined;
}

/** An answer, or a function that makes it when the call comes. */
export type ScriptedReply =
  | ScriptedAnswer
  | ((request: ModelRequest) => ScriptedAnswer | Promise<ScriptedAnswer>);

/** A reply for whichever call it fits, whatever the order. */
export interface ScriptedMatcher {
  /**
   * A predicate, or a pattern searched in the text of the last user or tool message (one that the harness injected,
   * of kind `synthetic`, does not count).
   */
  readonly when: RegExp | ((request: ModelRequest) => boolean);
  readonly reply: ScriptedReply;
  /** How many calls it answers, each of which must come. Default 1. With `Infinity` any number may come, also none. */
  readonly times?: number | undefined;
}

export type ScriptEntry = ScriptedReply | ScriptedMatcher;

/** The entries that are still to come. Matchers are tried first, in their order; what none takes gets the next reply. */
export class Script {
  readonly #replies: ScriptedReply[] = [];
  readonly #matchers: { readonly matcher: ScriptedMatcher; left: number }[] = [];

  constructor(entries: readonly ScriptEntry[]) {
    for (const entry of entries) {
      if (isMatcher(entry)) this.#matchers.push({ matcher: entry, left: entry.times ?? 1 });
      else this.#replies.push(entry);
    }
  }

  /** The reply to a request, used up by it; `undefined` when the script has none. */
  take(request: ModelRequest): ScriptedReply | undefined {
    const found = this.#matchers.find(({ matcher, left }) => left > 0 && matches(matcher, request));
    if (found === undefined) return this.#replies.shift();
    found.left--;
    return found.matcher.reply;
  }

  /** Replies that must still be asked for. */
  get remaining(): number {
    let total = this.#replies.length;
    for (const { left } of this.#matchers) if (Number.isFinite(left)) total += left;
    return total;
  }

  /** What is still to come, in words. */
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
