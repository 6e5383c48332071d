/** What a promise is rejected with. */
export async function thrownBy(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error as Error & Record<string, unknown>;
  }
  throw new Error(`Nothing was thrown; the answer was ${JSON.stringify(value)}.`);
}
