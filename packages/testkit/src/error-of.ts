import { errorText } from '@x/core';

/** A class of errors: `SessionConflictError`, for example. */
interface ErrorClass<Expected> {
  readonly prototype: Expected;
  readonly name: string;
  isInstance(error: unknown): boolean;
}

/** The error of a class that an operation must end in. */
export async function errorOf<Expected>(
  type: ErrorClass<Expected>,
  operation: Promise<unknown>,
): Promise<Expected> {
  const error = await operation.then(
    (value) => new Error(`It made ${JSON.stringify(value)}.`),
    (reason: unknown) => reason,
  );
  if (type.isInstance(error)) return error as Expected;
  throw new Error(`This should have ended in a ${type.name}: ${errorText(error)}`, { cause: error });
}
