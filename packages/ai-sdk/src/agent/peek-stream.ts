import type { StreamLike } from '../language-model.js';

/**
 * Reads a stream up to the first part for which `isWanted` holds, and gives that part with a stream of everything, what
 * was read included.
 */
export async function peekStream<Part>(
  source: StreamLike<Part>,
  isWanted: (part: Part) => boolean,
): Promise<{ readonly found: Part | undefined; readonly stream: ReadableStream<Part> }> {
  const reader = source.getReader();
  const read: Part[] = [];
  let found: Part | undefined;
  while (found === undefined) {
    const { done, value } = await reader.read();
    if (done || value === undefined) break;
    read.push(value);
    if (isWanted(value)) found = value;
  }
  const stream = new ReadableStream<Part>({
    async pull(controller) {
      const next = read.shift();
      if (next !== undefined) return controller.enqueue(next);
      const { done, value } = await reader.read();
      if (done || value === undefined) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { found, stream };
}
