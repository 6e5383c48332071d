import { existsSync } from 'node:fs';
import { SessionKey } from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import { command, UsageError } from '../../command.js';
import { describeSession, findSession, noSession } from '../../find-session.js';
import { identityOptions, openWorkspace, scopeOf } from '../../identity-options.js';
import { storeOptions, withStore } from '../../open-store.js';

export const deleteSession = command({
  name: 'sessions delete',
  takes: 'SESSION',
  options: {
    yes: { type: 'boolean', required: true, help: 'Delete it for good.' },
    ...storeOptions,
    ...identityOptions,
  },
  summary: 'Deletes a session and its log.',
  async run({ values, positionals: [sessionId = ''], output }) {
    // Exactly this owner's: what a repeated command means by a part of an id is another session.
    const key = SessionKey.of({ ...scopeOf(values), sessionId });
    let existed = await withStore(values, { readOnly: !values.yes }, async (store) => {
      if (values.yes) return store.delete(key);
      const { parts } = await findSession(store, scopeOf(values), sessionId);
      throw new UsageError(
        `This would delete session ${describeSession(parts)} and its log for good; to do it, say ${deletionOf(parts)}.`,
      );
    });
    if (existsSync(values.workspace)) {
      const workspace = openWorkspace(values);
      existed = (await workspace.delete(new WorkspaceSessionLog(workspace, key).location)) || existed;
    }
    if (!existed) throw noSession(key);
    output.write(`Deleted ${describeSession(key.parts)}.\n`);
  },
});

function deletionOf({ tenantId, userId, agentId, sessionId }: SessionKey['parts']): string {
  const owner = Object.entries({ tenant: tenantId, user: userId, agent: agentId })
    .filter(([, id]) => id !== undefined)
    .map(([option, id]) => ` --${option} ${id}`);
  return `x sessions delete ${sessionId}${owner.join('')} --yes`;
}
