/**
 * Makes the `return` of a generator call `leave` first, so that the work ends as soon as its reader leaves. Without this call, `return`
 * would wait for a pending `next`.
 */
export function leaveAtOnce<Value, Result>(
  generator: AsyncGenerator<Value, Result>,
  leave: () => unknown,
): AsyncGenerator<Value, Result> {
  const end = generator.return.bind(generator);
  generator.return = async (result) => {
    await leave();
    return end(result);
  };
  return generator;
}
