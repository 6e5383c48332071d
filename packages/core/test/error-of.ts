/** What a function throws. */
export function errorOf(action: () => unknown): Error {
  let value: unknown;
  try {
    value = action();
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  throw new Error(`Nothing was thrown; the answer was ${JSON.stringify(value)}.`);
}
