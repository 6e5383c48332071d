import { type SessionInfo, WorkspaceSession } from '@x/core';
import { type Command, readArguments } from '../command.js';
import { identityOptions, openWorkspace, scopeOf } from '../identity-options.js';

const usage = 'x sessions [--workspace DIR] [--agent ID] [--user ID] [--tenant ID] [--json]';

/** Lists the sessions of a workspace, the latest first. */
export const sessions: Command = {
  usage,
  summary: 'Lists the sessions of a workspace, the latest first.',
  async run(args, output) {
    const { values } = readArguments(usage, args, { ...identityOptions, json: { type: 'boolean' } });
    const found: SessionInfo[] = [];
    const store = new WorkspaceSession(openWorkspace(values));
    for await (const info of store.list(scopeOf(values))) found.push(info);
    found.sort((left, right) => right.updatedAt.localeCompare(left.updatedAt));
    for (const { key, version, updatedAt } of found) {
      const { tenantId, userId, agentId, sessionId } = key.parts;
      if (values.json) output.write(`${JSON.stringify({ ...key.parts, version, updatedAt })}\n`);
      else {
        const owner = [tenantId, userId, agentId].filter((part) => part !== undefined).join(' / ');
        output.write(`${updatedAt}  v${version}  ${sessionId}${owner === '' ? '' : `  (${owner})`}\n`);
      }
    }
    if (found.length === 0 && !values.json) output.write('No sessions.\n');
  },
};
