import type { ModelResponse, ModelStreamPart } from '@x/core';

/** A stream's parts. Fails unless it ends with its one response. */
export async function collect(
  stream: AsyncIterable<ModelStreamPart> | undefined,
): Promise<{ deltas: readonly ModelStreamPart[]; response: ModelResponse }> {
  const parts: ModelStreamPart[] = [];
  for await (const part of stream ?? []) parts.push(part);
  const last = parts.at(-1);
  const responses = parts.filter((part) => part.type === 'response');
  if (last?.type !== 'response' || responses.length !== 1) {
    throw new Error(`Expected one response at the end, got ${parts.map((part) => part.type).join(', ')}`);
  }
  return { deltas: parts.slice(0, -1), response: last.response };
}

/** The error that a promise rejects with. Fails when it does not. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => {
      throw new Error('Expected a rejection.');
    },
    (error: unknown) => error,
  );
}
