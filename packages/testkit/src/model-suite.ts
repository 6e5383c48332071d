import {
  assistantMessage,
  ContextOverflowError,
  type Message,
  type Model,
  ModelError,
  type ModelResponse,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { checkMessages, setAside } from '@x/core/messages';
import { afterAll, describe, expect } from 'vitest';
import { brokenServers } from './broken-servers.js';
import { type BadContent, badContents } from './strict/bad-contents.js';
import type { WireFormat } from './strict/formats.js';
import { type StrictServer, strictServer } from './strict/strict-server.js';
import { SuiteTests, type SuiteTestsOptions } from './suite-tests.js';

/** Options of {@link modelSuite}. */
export interface ModelSuiteOptions extends SuiteTestsOptions {
  /** Printed in the title of the suite. */
  readonly name: string;
  /**
   * Opens your model with this base URL: a local HTTP server that responds to every path below it with one fault. Disable the model's own
   * retries.
   */
  open(url: string): Model;
  /**
   * The protocol of your model. If set, the suite also starts a server that rejects what the provider rejects, and tests that a rejected
   * message costs at most its own turn.
   */
  readonly format?: WireFormat | undefined;
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
  const { name, open, format, abortMs = 300, timeoutMs = 30_000 } = options;
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
          if ('error' in outcome)
            expect(outcome.error, 'a model must reject with an Error').toBeInstanceOf(Error);
          else checkMessages([assistantMessage(outcome.response.content)], broken.name);
        }
      });
    }
    if (format !== undefined) {
      let server: StrictServer | undefined;
      afterAll(() => server?.close());
      for (const bad of badContents) {
        suite.register(`a refused message costs its turn, never the next: ${bad.name}`, async () => {
          server ??= await strictServer(format);
          for (const [index, turn] of turnsOf(bad).entries())
            await expectNextAnswered(open(server.url), turn, index > 0);
        });
      }
    }
    suite.testOptOuts();

    function request() {
      return { messages: [userMessage('Hi')], tools: [], signal: AbortSignal.timeout(abortMs) };
    }
  });
}

/** Returns the conversations in which bad content can occur: in a user message, a tool result, or a tool call. */
function turnsOf({
  blocks,
  calls = [{ id: 'call_1', name: 'look', input: {} }],
}: BadContent): readonly (readonly Message[])[] {
  const step = [
    userMessage('Look at it.'),
    assistantMessage(calls.map((call) => ({ type: 'tool_use', ...call }))),
    ...calls.map((call) => toolResultMessage(call, blocks ?? 'Seen.')),
  ];
  return blocks === undefined ? [step] : [[userMessage(blocks)], step];
}

/** Expects that the next plain message is answered: at once, or once the rejected content is set aside. */
async function expectNextAnswered(
  model: Model,
  turn: readonly Message[],
  isStreamed: boolean,
): Promise<void> {
  const hello = userMessage('Hello?');
  const ask = (messages: readonly Message[]) => {
    const request = { messages: [...messages, hello], tools: [] };
    return isStreamed && model.stream ? streamed(model, request) : model.generate(request);
  };
  const answered = await ask(turn).catch(async (error: unknown) => {
    const isSaid = ModelError.isInstance(error) ? !error.retryable : ContextOverflowError.isInstance(error);
    expect(isSaid, `${error} must be marked as permanent (not retryable)`).toBe(true);
    return ask(turn.map((message) => setAside(message, 'all')));
  });
  expect(answered.content.length, 'blocks of the answer').toBeGreaterThan(0);
}

async function streamed(model: Model, request: Parameters<Model['generate']>[0]): Promise<ModelResponse> {
  for await (const part of model.stream?.(request) ?? []) if (part.type === 'response') return part.response;
  throw new Error('The stream ended without a response.');
}
