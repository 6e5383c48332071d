import {
  assistantMessage,
  ContextOverflowError,
  type Message,
  type Model,
  ModelError,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { setAside } from '@x/core/messages';
import { afterAll, describe, expect, it } from 'vitest';
import { type BadContent, badContents } from './strict/bad-contents.js';
import type { WireFormat } from './strict/formats.js';
import { type StrictServer, strictServer } from './strict/strict-server.js';

export interface RejectionSuiteOptions {
  readonly name: string;
  /** The protocol of the model. */
  readonly format: WireFormat;
  /** Opens the model with this base URL. */
  open(url: string): Model;
}

/**
 * Registers a test of each kind of bad content, with Vitest, on a server that rejects what the provider rejects: a rejected message costs
 * at most its own turn.
 */
export function rejectionSuite({ name, format, open }: RejectionSuiteOptions): void {
  describe(`${name} over the protocol of ${format}`, () => {
    let server: StrictServer | undefined;
    afterAll(() => server?.close());
    it.each(badContents)('a refused message costs its turn, never the next: $name', async (bad) => {
      server ??= await strictServer(format);
      for (const [index, turn] of turnsOf(bad).entries())
        await expectNextAnswered(open(server.url), turn, index > 0);
    });
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
  const ask = async (messages: readonly Message[]) => {
    const request = { messages: [...messages, hello], tools: [] };
    if (!isStreamed || !model.stream) return model.generate(request);
    for await (const part of model.stream(request)) if (part.type === 'response') return part.response;
    throw new Error('The stream ended without a response.');
  };
  const answered = await ask(turn).catch(async (error: unknown) => {
    const isSaid = ModelError.isInstance(error) ? !error.retryable : ContextOverflowError.isInstance(error);
    expect(isSaid, `${error} says that the request is refused for good`).toBe(true);
    return ask(turn.map((message) => setAside(message, 'all')));
  });
  expect(answered.content.length, 'blocks of the answer').toBeGreaterThan(0);
}
