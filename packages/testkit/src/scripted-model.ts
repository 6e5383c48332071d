import {
  ContextOverflowError,
  countRequest,
  estimateCounter,
  InvalidInputError,
  type Model,
  ModelError,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamPart,
  type TokenCounter,
  unlessAborted,
} from '@x/core';
import { Script, type ScriptEntry, type ScriptedAnswer } from './script.js';
import { IncompleteScriptError, UnexpectedModelCallError } from './script-errors.js';
import { scriptedResponse } from './scripted-response.js';
import { snapshotRequest } from './snapshot-request.js';
import { streamDeltas } from './stream-deltas.js';

export interface ScriptedModelOptions {
  /** Default `scripted`. */
  readonly id?: string | undefined;
  /** Tokens. Default 128 000; `enforceWindow` wants it named. */
  readonly contextWindow?: number | undefined;
  /** It keeps to a request's `responseFormat`. Default false. */
  readonly structuredOutput?: boolean | undefined;
  /**
   * Refuses a request that `counter` finds larger than `contextWindow`, as a provider would: with
   * `ContextOverflowError`, before any entry of the script is used.
   */
  readonly enforceWindow?: { readonly counter: TokenCounter } | undefined;
}

/**
 * A model that answers from a script: deterministic, and strict about calls that nobody foresaw.
 *
 * Replies are used in their order; matchers (`{ when, reply }`) answer whichever call they fit. Usage is counted with
 * the counter of `enforceWindow`, else with core's estimate, unless an entry gives it.
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

  /** @throws {InvalidInputError} when the window is to be enforced and not given. */
  constructor(script: readonly ScriptEntry[], options: ScriptedModelOptions = {}) {
    const { id = 'scripted', contextWindow = 128_000, enforceWindow } = options;
    if (enforceWindow !== undefined && options.contextWindow === undefined) {
      throw new InvalidInputError('ScriptedModel options', [
        { path: 'contextWindow', message: 'is needed by enforceWindow' },
      ]);
    }
    this.id = id;
    this.contextWindow = contextWindow;
    this.structuredOutput = options.structuredOutput ?? false;
    this.#script = new Script(script);
    this.#counter = enforceWindow?.counter ?? estimateCounter;
    this.#enforced = enforceWindow !== undefined;
  }

  /** Every request so far, refused ones included, frozen as it was when it came. */
  get requests(): readonly ModelRequest[] {
    return this.#requests;
  }

  /**
   * Throws unless the script was played to its end and nothing else was asked.
   *
   * @throws {UnexpectedModelCallError} the first unscripted call, also when the code under test swallowed it.
   * @throws {IncompleteScriptError} when scripted replies were never asked for.
   */
  assertComplete(): void {
    if (this.#unexpected !== undefined) throw this.#unexpected;
    const { remaining } = this.#script;
    if (remaining === 0) return;
    const left = this.#script.describe();
    throw new IncompleteScriptError({ modelId: this.id, remaining, left, calls: this.#requests.length });
  }

  /**
   * @throws {UnexpectedModelCallError} when the script has no answer.
   * @throws {ContextOverflowError} when the window is enforced and exceeded.
   */
  async generate(request: ModelRequest): Promise<ModelResponse> {
    const { answer, response } = await this.#answer(request);
    if (breaks(answer)) throw errorOf(answer, this.id);
    return response;
  }

  /** Deltas, then one `response`. Throws as {@link generate} does, once iteration begins. */
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
  return answer.error ?? new ModelError('The scripted answer broke off.', { modelId, retryable: true });
}
