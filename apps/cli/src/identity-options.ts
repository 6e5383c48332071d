import { existsSync } from 'node:fs';
import { type SessionScope, storageOf, type Workspace } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { UsageError } from './command.js';

/** The options for the workspace and the owner of sessions. */
export const identityOptions = {
  workspace: {
    type: 'string',
    short: 'w',
    default: '.',
    value: 'DIR',
    help: 'The folder that the agent works in.',
  },
  agent: { type: 'string', short: 'a', value: 'ID', help: "The agent's name." },
  user: { type: 'string', short: 'u', value: 'ID', help: 'The user.' },
  tenant: { type: 'string', short: 't', value: 'ID', help: 'The tenant of the user.' },
} as const;

/** The options of commands that run the agent of a file. */
export const agentOptions = {
  user: identityOptions.user,
  model: {
    type: 'string',
    short: 'm',
    value: 'PROVIDER:MODEL',
    help: 'Use this model instead of the one in the file, for example openai:gpt-5.',
  },
  trust: { type: 'boolean', help: 'Trust what the file starts, allows and uses, until it changes.' },
} as const;

export interface IdentityValues {
  readonly workspace: string;
  readonly agent?: string | undefined;
  readonly user?: string | undefined;
  readonly tenant?: string | undefined;
}

/**
 * Opens the agents' own storage in a workspace.
 *
 * @throws {UsageError} if the directory does not exist, because reading must not create it.
 */
export function openWorkspace({ workspace }: Pick<IdentityValues, 'workspace'>): Workspace {
  if (!existsSync(workspace)) {
    throw new UsageError(`There is no workspace at ${workspace}. Set it with --workspace DIR.`);
  }
  return storageOf(new LocalWorkspace(workspace));
}

/** Returns the workspace for use in a displayed command; `undefined` for the default workspace. */
export function workspaceToName(workspace: string): string | undefined {
  return workspace === identityOptions.workspace.default ? undefined : workspace;
}

export function scopeOf({ agent, user, tenant }: IdentityValues): SessionScope {
  return { agentId: agent, userId: user, tenantId: tenant };
}
