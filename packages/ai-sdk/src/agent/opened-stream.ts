import type { StreamLike } from '../language-model.js';

/**
 * Reads a stream up to its first part that is no preamble. The stream that is given back has every part, and its reader
 * decides when the rest is read.
 *
 * @throws what the stream fails with before that.
 */
export async function openedStream<Part>(
  source: StreamLike<Part>,
  isPreamble: (part: Part) => boolean,
): Promise<{ readonly first: Part | undefined; readonly stream: ReadableStream<Part> }> {
  const reader = source.getReader();
  const read: Part[] = [];
  let first: Part | undefined;
  do {
    const { done, value } = await reader.read();
    first = done ? undefined : value;
    if (first !== undefined) read.push(first);
  } while (first !== undefined && isPreamble(first));
  const stream = new ReadableStream<Part>(
    {
      async pull(controller) {
        const { done, value } = read.length > 0 ? { done: false, value: read.shift() } : await reader.read();
        if (done || value === undefined) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return { first, stream };
}
