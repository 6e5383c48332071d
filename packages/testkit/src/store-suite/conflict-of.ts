import { SessionConflictError } from '@x/core';

/** The conflict that a commit must end in. */
export async function conflictOf(commit: Promise<number>): Promise<SessionConflictError> {
  let version: number;
  try {
    version = await commit;
  } catch (error) {
    if (SessionConflictError.isInstance(error)) return error;
    throw error;
  }
  throw new Error(`The commit should have been refused, but made version ${version}.`);
}
