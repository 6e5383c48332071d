import type { StreamLike } from '../language-model.js';

/**
 * Passes a stream through, reading no sooner than its reader does. When an overflow comes before the first content,
 * `again` is asked for another stream, whose parts follow without a second preamble; when it gives none, or fails, the
 * overflow itself is passed on. A reader who leaves meanwhile aborts its signal.
 */
export function spliceStream<Part>(
  source: StreamLike<Part>,
  roleOf: (part: Part) => 'preamble' | 'overflow' | 'content',
  again: (signal: AbortSignal) => Promise<StreamLike<Part> | undefined>,
): ReadableStream<Part> {
  let reader = source.getReader();
  const left = new AbortController();
  let state: 'first' | 'second preamble' | 'through' = 'first';
  return new ReadableStream<Part>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await reader.read();
          if (done || value === undefined) return controller.close();
          const role = state === 'through' ? 'content' : roleOf(value);
          if (role === 'preamble' && state === 'second preamble') continue;
          if (role === 'overflow' && state === 'first') {
            const next = await again(left.signal).catch(() => undefined);
            if (left.signal.aborted) {
              next
                ?.getReader()
                .cancel()
                .catch(() => {});
              return;
            }
            if (next !== undefined) {
              reader.cancel().catch(() => {});
              reader = next.getReader();
              state = 'second preamble';
              continue;
            }
          }
          if (role !== 'preamble') state = 'through';
          return controller.enqueue(value);
        }
      },
      cancel(reason) {
        left.abort(reason);
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
