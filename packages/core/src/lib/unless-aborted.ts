/**
 * Awaits some work until the signal fires, also where the work itself ignores the signal, as some clients do. A later
 * result is ignored.
 *
 * @example
 * ```ts
 * const answer = await unlessAborted(client.send(request), AbortSignal.timeout(10_000));
 * ```
 *
 * @throws the signal's reason.
 */
export async function unlessAborted<Value>(
  work: PromiseLike<Value>,
  signal: AbortSignal | undefined,
): Promise<Value> {
  if (signal === undefined) return work;
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
