import { assistantMessage, checkMessages, type Model, type ModelResponse, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { brokenServers } from './broken-servers.js';

export interface ModelSuiteOptions {
  readonly name: string;
  /** Opens the model on a server that speaks HTTP at `url`, whatever is asked for below it. Retries of its own should be off. */
  open(url: string): Model;
  /** Milliseconds after which a request is aborted, for servers that stall. Default 300. */
  readonly abortMs?: number;
}

/**
 * Registers, with vitest, the tests that every `Model` over HTTP must pass: whatever the server does, a request settles, soon after its
 * signal at the latest, and what it gives can be kept.
 *
 * @example
 * ```ts
 * modelSuite({ name: 'mine', open: (url) => new MyModel({ baseUrl: url }) });
 * ```
 */
export function modelSuite({ name, open, abortMs = 300 }: ModelSuiteOptions): void {
  describe(`Model: ${name}`, () => {
    for (const broken of brokenServers(open)) {
      it(`settles for ${broken.name}`, async () => {
        const model = broken.open();
        for (const ask of [() => model.generate(request()), () => streamed(model, request())]) {
          const outcome = await ask().then(
            (response) => ({ response }),
            (error: unknown) => ({ error }),
          );
          if ('error' in outcome) expect(outcome.error).toBeInstanceOf(Error);
          else checkMessages([assistantMessage(outcome.response.content)], broken.name);
        }
      });
    }

    function request() {
      return { messages: [userMessage('Hi')], tools: [], signal: AbortSignal.timeout(abortMs) };
    }
  });
}

async function streamed(model: Model, request: Parameters<Model['generate']>[0]): Promise<ModelResponse> {
  for await (const part of model.stream?.(request) ?? []) if (part.type === 'response') return part.response;
  throw new Error('The stream ended without a response.');
}
