import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ContentBlock,
  ContextOverflowError,
  countBlock,
  countRequest,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamPart,
  type TokenCounter,
} from '@x/core';
import { decide } from './decide.js';
import { readView } from './view.js';

interface GuideOptions {
  readonly contextWindow: number;
  readonly counter: TokenCounter;
  /** Milliseconds between two words of an answer, so that a person can follow. Default 0. */
  readonly paceMs?: number;
}

/**
 * The embedded guide: a rule-based policy behind the `Model` interface, for a first look without a key. It is no
 * language model. It decides from the request alone, keeps nothing between calls, and refuses what does not fit its
 * window, so that everything around it works as with a real model.
 */
export class GuideModel implements Model {
  readonly id = 'embedded-guide';
  readonly contextWindow: number;
  readonly #counter: TokenCounter;
  readonly #paceMs: number;
  #calls = 0;

  constructor({ contextWindow, counter, paceMs = 0 }: GuideOptions) {
    this.contextWindow = contextWindow;
    this.#counter = counter;
    this.#paceMs = paceMs;
  }

  async generate(request: ModelRequest): Promise<ModelResponse> {
    request.signal?.throwIfAborted();
    const inputTokens = countRequest(this.#counter, request);
    if (inputTokens > this.contextWindow) {
      throw new ContextOverflowError(undefined, {
        modelId: this.id,
        inputTokens,
        contextWindow: this.contextWindow,
      });
    }
    const { text, calls } = decide(readView(request));
    const content: ContentBlock[] = text === '' ? [] : [{ type: 'text', text }];
    for (const { name, input } of calls) {
      content.push({
        type: 'tool_use',
        id: `guide-${process.pid}-${Date.now()}-${++this.#calls}`,
        name,
        input,
      });
    }
    const outputTokens = content.reduce((sum, block) => sum + countBlock(this.#counter, block), 0);
    return {
      content,
      finishReason: calls.length > 0 ? 'tool-calls' : 'stop',
      usage: { inputTokens, outputTokens },
    };
  }

  async *stream(request: ModelRequest): AsyncGenerator<ModelStreamPart> {
    const response = await this.generate(request);
    for (const block of response.content) {
      if (block.type !== 'text') continue;
      for (const word of block.text.match(/\S+\s*|\s+/g) ?? []) {
        request.signal?.throwIfAborted();
        yield { type: 'text-delta', text: word };
        if (this.#paceMs > 0) await sleep(this.#paceMs);
      }
    }
    yield { type: 'response', response };
  }
}
