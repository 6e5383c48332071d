/**
 * Converts a generator to a stream, without reading ahead. If the reader cancels the stream, the generator ends.
 *
 * @param cancel Called if the reader cancels the stream. Its result is awaited.
 */
export function readableOf<Chunk>(
  chunks: AsyncGenerator<Chunk, void>,
  cancel: (reason: unknown) => unknown = () => {},
): ReadableStream<Chunk> {
  return new ReadableStream<Chunk>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel(reason) {
        const left = cancel(reason);
        // Not awaited: it waits for the read that is under way.
        chunks.return().catch(() => {});
        await left;
      },
    },
    { highWaterMark: 0 },
  );
}
