import type { StreamLike, StreamPart } from '../language-model.js';

/** Whether a part may come before an overflow, opens what content comes behind, is an overflow, or is content. */
export type Role = 'preamble' | 'opening' | 'overflow' | 'content';

/**
 * Passes a stream through, reading no sooner than its reader does. When an overflow comes before the first content, as a
 * part or as the failure of the stream itself, `again` is asked for another stream, whose parts follow without a second
 * preamble; when it gives none, or fails, the overflow itself is passed on. A reader who leaves meanwhile aborts its signal.
 */
export function spliceStream(
  source: StreamLike<StreamPart>,
  roleOf: (part: StreamPart) => Role,
  again: (signal: AbortSignal) => Promise<StreamLike<StreamPart> | undefined>,
): ReadableStream<StreamPart> {
  let reader = source.getReader();
  const left = new AbortController();
  const opened: StreamPart[] = [];
  let state: 'first' | 'second preamble' | 'through' = 'first';
  return new ReadableStream<StreamPart>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value, failure } = await reader.read().then(
            (read) => ({ ...read, failure: undefined }),
            (error: unknown) => ({
              done: false,
              value: { type: 'error', error } as StreamPart,
              failure: { error },
            }),
          );
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
              for (const part of opened) controller.enqueue(closing(part));
              continue;
            }
          }
          if (failure !== undefined) throw failure.error;
          if (role === 'opening') opened.push(value);
          else if (role !== 'preamble') state = 'through';
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

/** Ends what a part opened, without the metadata that names it to a provider: the answer that it was part of is gone. */
function closing(part: StreamPart): StreamPart {
  const { type, id } = part as unknown as { readonly type: string; readonly id: string };
  return { type: type.replace('-start', '-end'), id, providerMetadata: {} } as unknown as StreamPart;
}
