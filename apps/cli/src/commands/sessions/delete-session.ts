import { existsSync } from 'node:fs';
import { eraseSession, SessionKey } from '@x/core';
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
  summary: 'Deletes a session with its log, evicted results, plan and tasks.',
  async run({ values, positionals: [sessionId = ''], output }) {
    // Exactly this owner's: what a repeated command means by a part of an id is another session.
    const key = SessionKey.of({ ...scopeOf(values), sessionId });
    const { sessions, files } = await withStore(values, { readOnly: !values.yes }, async (session) => {
      const storage = existsSync(values.workspace) ? openWorkspace(values) : undefined;
      if (values.yes) return eraseSession({ session, storage }, key);
      const { parts } = await findSession(session, scopeOf(values), sessionId);
      throw new UsageError(
        `This would delete session ${describeSession(parts)} and its log for good; to do it, say ${deletionOf(parts)}.`,
      );
    });
    if (sessions + files === 0) throw noSession(key);
    output.write(`Deleted ${describeSession(key.parts)}.\n`);
  },
});

function deletionOf({ tenantId, userId, agentId, sessionId }: SessionKey['parts']): string {
  const owner = Object.entries({ tenant: tenantId, user: userId, agent: agentId })
    .filter(([, id]) => id !== undefined)
    .map(([option, id]) => ` --${option} ${id}`);
  return `x sessions delete ${sessionId}${owner.join('')} --yes`;
}
