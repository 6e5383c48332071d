import {
  ContextOverflowError,
  estimateCounter,
  type Model,
  ModelError,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamPart,
  type TokenCounter,
} from '@x/core';
import { unlessAborted } from '@x/core/internal';
import { countRequest } from '@x/core/messages';
import { Script, type ScriptEntry, type ScriptedAnswer } from './script.js';
import { IncompleteScriptError, UnexpectedModelCallError } from './script-errors.js';
import { scriptedResponse } from './scripted-response.js';
import { snapshotRequest } from './snapshot-request.js';
import { streamDeltas } from './stream-deltas.js';

/** Options of {@link ScriptedModel}. */
export interface ScriptedModelOptions {
  /** Name of the model in events and errors. Default `scripted`. */
  readonly id?: string | undefined;
  /** Size of the context window, in tokens. Default 128 000. */
  readonly contextWindow?: number | undefined;
  /** Whether the model follows the `responseFormat` of a request. Default false. */
  readonly structuredOutput?: boolean | undefined;
  /**
   * Rejects a request above `contextWindow` with `ContextOverflowError`, as a provider does. `counter` counts its tokens. A rejected
   * request uses no entry of the script. Default: off.
   */
  readonly enforceWindow?: { readonly counter: TokenCounter } | undefined;
}

/**
 * A model that answers from a script: deterministic, and strict about requests that the script does not expect.
 *
 * Replies are used in order. Matchers (`{ when, reply }`) answer the requests that they match. Unless an entry gives its usage, tokens
 * are counted with the counter of `enforceWindow`, or with the estimate of `@x/core`.
 *
 * @example
 * ```ts
 * const model = new ScriptedModel([
 *   { toolCalls: [{ name: 'get_weather', input: { city: 'Bern' } }] },
 *   { text: 'It is sunny.' },
 * ]);
 * ```
 */
export class ScriptedModel implements Model {
  readonly id: string;
  readonly contextWindow: number;
  readonly structuredOutput: boolean;
  readonly #script: Script;
  readonly #counter: TokenCounter;
  readonly #enforced: boolean;
  readonly #requests: ModelRequest[] = [];
  #idsMade = 0;
  #unexpected: UnexpectedModelCallError | undefined;

  constructor(script: readonly ScriptEntry[], options: ScriptedModelOptions = {}) {
    const { id = 'scripted', contextWindow = 128_000, enforceWindow } = options;
    this.id = id;
    this.contextWindow = contextWindow;
    this.structuredOutput = options.structuredOutput ?? false;
    this.#script = new Script(script);
    this.#counter = enforceWindow?.counter ?? estimateCounter;
    this.#enforced = enforceWindow !== undefined;
  }

  /** All requests so far, including rejected ones, frozen as they arrived. */
  get requests(): readonly ModelRequest[] {
    return this.#requests;
  }

  /**
   * Throws unless every reply was requested and every request had a reply. Call it at the end of a test.
   *
   * @throws {UnexpectedModelCallError} for the first request without a reply, even if the code under test swallowed the error.
   * @throws {IncompleteScriptError} if replies were not requested.
   */
  assertComplete(): void {
    if (this.#unexpected !== undefined) throw this.#unexpected;
    const { remaining } = this.#script;
    if (remaining === 0) return;
    const left = this.#script.describe();
    throw new IncompleteScriptError({ modelId: this.id, remaining, left, calls: this.#requests.length });
  }

  /**
   * @throws {UnexpectedModelCallError} if the script has no reply to the request.
   * @throws {ContextOverflowError} if the window is enforced and the request exceeds it.
   */
  async generate(request: ModelRequest): Promise<ModelResponse> {
    const { answer, response } = await this.#answer(request);
    if (breaks(answer)) throw errorOf(answer, this.id);
    return response;
  }

  /** Yields deltas, then one `response`. Throws like {@link generate}, once iteration begins. */
  async *stream(request: ModelRequest): AsyncGenerator<ModelStreamPart> {
    const { answer, response } = await this.#answer(request);
    const failAt = breaks(answer) ? (answer.errorAfter ?? 0) : Number.POSITIVE_INFINITY;
    let count = 0;
    for (const delta of streamDeltas(response, answer.chunks)) {
      if (count++ >= failAt) break;
      yield delta;
      request.signal?.throwIfAborted();
    }
    if (breaks(answer)) throw errorOf(answer, this.id);
    yield { type: 'response', response };
  }

  async #answer(request: ModelRequest): Promise<{ answer: ScriptedAnswer; response: ModelResponse }> {
    const { signal } = request;
    signal?.throwIfAborted();
    const snapshot = snapshotRequest(request);
    this.#requests.push(snapshot);
    this.#refuseTooLarge(snapshot);
    const left = this.#script.describe();
    const reply = this.#script.take(snapshot);
    if (reply === undefined) {
      const details = { modelId: this.id, request: snapshot, call: this.#requests.length, left };
      const error = new UnexpectedModelCallError(details);
      this.#unexpected ??= error;
      throw error;
    }
    const answer =
      typeof reply === 'function' ? await unlessAborted(Promise.resolve(reply(snapshot)), signal) : reply;
    signal?.throwIfAborted();
    const response = scriptedResponse(answer, snapshot, this.#counter, () => ++this.#idsMade);
    return { answer, response };
  }

  #refuseTooLarge(request: ModelRequest): void {
    if (!this.#enforced) return;
    const inputTokens = countRequest(this.#counter, request);
    if (inputTokens <= this.contextWindow) return;
    throw new ContextOverflowError(undefined, {
      modelId: this.id,
      inputTokens,
      contextWindow: this.contextWindow,
    });
  }
}

function breaks(answer: ScriptedAnswer): boolean {
  return answer.error !== undefined || answer.errorAfter !== undefined;
}

function errorOf(answer: ScriptedAnswer, modelId: string): unknown {
  return (
    answer.error ??
    new ModelError('The scripted answer was interrupted (errorAfter).', { modelId, retryable: true })
  );
}
