import type { LanguageModelV3GenerateResult, LanguageModelV3StreamPart } from '@ai-sdk/provider';

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

/** An answer of the SDK's mock model: text, or a call of a tool. */
export function answer(
  what: string | { readonly tool: string; readonly id: string; readonly input: object },
): LanguageModelV3GenerateResult {
  const content =
    typeof what === 'string'
      ? { type: 'text' as const, text: what }
      : {
          type: 'tool-call' as const,
          toolCallId: what.id,
          toolName: what.tool,
          input: JSON.stringify(what.input),
        };
  const unified = typeof what === 'string' ? 'stop' : 'tool-calls';
  return { content: [content], finishReason: { unified, raw: undefined }, usage, warnings: [] };
}

/** A text as the parts of a stream. */
export function streamOf(text: string): { stream: ReadableStream<LanguageModelV3StreamPart> } {
  return partsOf(
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: text },
    { type: 'text-end', id: '1' },
    { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage },
  );
}

export function partsOf(...parts: readonly LanguageModelV3StreamPart[]): {
  stream: ReadableStream<LanguageModelV3StreamPart>;
} {
  return {
    stream: new ReadableStream({
      start(controller) {
        for (const part of parts) controller.enqueue(part);
        controller.close();
      },
    }),
  };
}
