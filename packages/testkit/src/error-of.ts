import { errorText } from '@x/core';

/** A class of errors: `SessionConflictError`, for example. */
interface ErrorClass<Expected> {
  readonly prototype: Expected;
  readonly name: string;
  isInstance(error: unknown): boolean;
}

/**
 * Waits for an operation that must fail, and returns its error.
 *
 * @throws {Error} if the operation succeeds, or fails with an error of another class.
 */
export async function errorOf<Expected>(
  type: ErrorClass<Expected>,
  operation: Promise<unknown>,
): Promise<Expected> {
  const error = await operation.then(
    (value) => new Error(`it returned ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (type.isInstance(error)) return error as Expected;
  throw new Error(`The operation must fail with a ${type.name}, but: ${errorText(error)}`, { cause: error });
}
