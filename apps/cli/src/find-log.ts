import { existsSync } from 'node:fs';
import type { SessionKey, SessionLog } from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import { openWorkspace } from './identity-options.js';

/** The log of a session, if it has one. It is in the workspace, wherever the session is stored. */
export async function findLog(
  values: { readonly workspace: string },
  key: SessionKey,
): Promise<SessionLog | undefined> {
  if (!existsSync(values.workspace)) return undefined;
  const workspace = openWorkspace(values);
  const log = new WorkspaceSessionLog(workspace, key);
  return (await workspace.stat(log.location)) === undefined ? undefined : log;
}
