import { WorkspaceError, type WorkspaceErrorCode } from '@x/core';

/** Why a workspace refused; fails when it did not, or threw anything else. */
export async function refusalOf(operation: Promise<unknown>): Promise<WorkspaceErrorCode> {
  try {
    await operation;
  } catch (error) {
    if (WorkspaceError.isInstance(error)) return error.code as WorkspaceErrorCode;
    throw error;
  }
  throw new Error('The workspace did not refuse.');
}
