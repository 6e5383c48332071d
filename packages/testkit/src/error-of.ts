import { errorText } from '@x/core/internal';

/** A class of errors, such as `SessionConflictError`. */
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
  const { error, outcome } = await operation.then(
    (value) => ({ error: undefined, outcome: `returned ${JSON.stringify(value)}` }),
    (error: unknown) => ({
      error,
      outcome: `failed with ${error instanceof Error ? error.name : typeof error}: ${errorText(error)}`,
    }),
  );
  if (type.isInstance(error)) return error as Expected;
  throw new Error(`The operation must fail with ${type.name}, but it ${outcome}`, { cause: error });
}
