import {
  assistantMessage,
  ContextOverflowError,
  type Model,
  ModelError,
  type ModelResponse,
  userMessage,
} from '@x/core';
import { checkMessages } from '@x/core/messages';
import { describe, expect } from 'vitest';
import { brokenServers } from './broken-servers.js';
import { SuiteTests, type SuiteTestsOptions } from './suite-tests.js';

export interface ModelSuiteOptions extends SuiteTestsOptions {
  /** Printed in the title of the suite. */
  readonly name: string;
  /**
   * Opens your model with this base URL: a local HTTP server that responds to every path below it with one fault. Disable the model's own
   * retries.
   */
  open(url: string): Model;
  /** Milliseconds after which the suite aborts a request, for servers that never answer. Default 300. */
  readonly abortMs?: number | undefined;
  /** Time limit of one test, in milliseconds. Default 30 000. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Registers the tests that every `Model` over HTTP must pass, with Vitest. Whatever the server does, `generate` and `stream` settle
 * after the abort signal at the latest: with an `Error`, or with a response that a session can store.
 *
 * @example
 * ```ts
 * modelSuite({ name: 'MyModel', open: (url) => new MyModel({ baseUrl: url, maxRetries: 0 }) });
 * ```
 */
export function modelSuite(options: ModelSuiteOptions): void {
  const { name, open, abortMs = 300, timeoutMs = 30_000 } = options;
  describe(`Model: ${name}`, () => {
    const suite = new SuiteTests({ ...options, timeoutMs });
    for (const broken of brokenServers(open)) {
      suite.register(`generate() and stream() settle: ${broken.name}`, async () => {
        const model = broken.open();
        for (const ask of [() => model.generate(request()), () => streamed(model, request())]) {
          const outcome = await ask().then(
            (response) => ({ response }),
            (error: unknown) => ({ error }),
          );
          if (!('error' in outcome)) checkMessages([assistantMessage(outcome.response.content)], broken.name);
          else if (broken.refuses)
            expect(
              isRefusal(outcome.error),
              `${outcome.error} says that the request is refused for good`,
            ).toBe(true);
          else expect(outcome.error, 'a model throws errors').toBeInstanceOf(Error);
        }
      });
    }
    suite.testOptOuts();

    function request() {
      return { messages: [userMessage('Hi')], tools: [], signal: AbortSignal.timeout(abortMs) };
    }
  });
}

/** Whether the error says that the same request fails again. The agent then sets messages of the turn aside. */
function isRefusal(error: unknown): boolean {
  return ModelError.isInstance(error) ? !error.retryable : ContextOverflowError.isInstance(error);
}

async function streamed(model: Model, request: Parameters<Model['generate']>[0]): Promise<ModelResponse> {
  for await (const part of model.stream?.(request) ?? []) if (part.type === 'response') return part.response;
  throw new Error('The stream ended without a response.');
}
