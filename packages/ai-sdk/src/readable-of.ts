/** A stream of what a generator yields, read no sooner than its reader does; a reader who leaves ends the generator. */
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
