import type { FinishReason, Model, ModelRequest, ModelResponse } from '@x/core';

/** A summary as a good model writes it. */
export const GOOD_SUMMARY = [
  '## SESSION INTENT',
  'Fix the login.',
  '## SUMMARY',
  'Read the code, found the cause.',
  '## ARTIFACTS',
  'src/login.ts changed',
  '## NEXT STEPS',
  'Run the tests.',
].join('\n');

/** A model that answers by a function, and remembers what it was asked. */
export function modelOf(
  answer: (request: ModelRequest, index: number) => string | ModelResponse | Promise<string | ModelResponse>,
  more: Partial<Model> = {},
): Model & { readonly requests: readonly ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    id: 'fake',
    contextWindow: 100_000,
    requests,
    async generate(request) {
      requests.push(request);
      const value = await answer(request, requests.length - 1);
      return typeof value === 'string' ? said(value) : value;
    },
    ...more,
  };
}

export function said(text: string, finishReason: FinishReason = 'stop'): ModelResponse {
  return { content: [{ type: 'text', text }], finishReason, usage: { inputTokens: 10, outputTokens: 5 } };
}

/** Everything that a request holds, as one text. */
export function promptOf(request: ModelRequest | undefined): string {
  return `${request?.system ?? ''}\n${JSON.stringify(request?.messages.map((message) => message.content))}`;
}
