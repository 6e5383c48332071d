import { existsSync } from 'node:fs';
import { eraseSession, SessionKey, type SessionStore } from '@x/core';
import { command, shellCommand, UsageError } from '../../command.js';
import { describeSession, findLog, findSession, noSession } from '../../find-session.js';
import { type IdentityValues, openWorkspace, scopeOf, workspaceToName } from '../../identity-options.js';
import { type StoreValues, sessionOptions, storeOptions, withStore } from '../../open-store.js';
import { withoutSecrets } from '../../stores.js';

export const deleteSession = command({
  name: 'sessions delete',
  takes: 'SESSION',
  options: {
    yes: { type: 'boolean', required: true, help: 'Confirm the deletion, which cannot be undone.' },
    ...sessionOptions,
  },
  summary: 'Deletes a session with its log, evicted results, plan and tasks.',
  async run({ values, positionals: [sessionId = ''], output }) {
    // Requires the exact owner and the whole id. If the command is repeated, a shortened id could match another session.
    const key = SessionKey.of({ ...scopeOf(values), sessionId });
    await withStore(values, { readOnly: !values.yes }, async (session) => {
      const storage = existsSync(values.workspace) ? openWorkspace(values) : undefined;
      const erased = values.yes ? await eraseSession({ session, storage }, key) : { sessions: 0, files: 0 };
      if (erased.sessions + erased.files === 0) throw await errorFor(session, values, sessionId);
    });
    output.write(`Deleted ${describeSession(key.parts)}.\n`);
  },
});

/** Returns the error for a command that deleted nothing: how to confirm, or that there is no such session. */
async function errorFor(
  store: SessionStore,
  values: IdentityValues & StoreValues & { readonly yes?: boolean | undefined },
  id: string,
): Promise<UsageError> {
  const key = await findSession(store, scopeOf(values), id);
  const { parts } = key;
  // A damaged session can be deleted too.
  const exists = await store.load(key).then(Boolean, () => true);
  if (!exists && (await findLog(values, key)) === undefined) return noSession(key);
  const whole = values.yes ? '--yes requires the complete id and its owner. ' : '';
  return new UsageError(
    `${whole}This deletes session ${describeSession(parts)} and its log permanently. To confirm: ${deletionCommand(parts, values)}`,
  );
}

/** Returns the command that deletes this session from the store where it was found. */
function deletionCommand(
  { tenantId, userId, agentId, sessionId }: SessionKey['parts'],
  { workspace, ...values }: StoreValues,
): string {
  const stores = Object.keys(storeOptions).map((name) => [
    name,
    values[name] && withoutSecrets(String(values[name])),
  ]);
  return shellCommand(['sessions', 'delete', sessionId], {
    tenant: tenantId,
    user: userId,
    agent: agentId,
    ...Object.fromEntries(stores),
    workspace: workspaceToName(workspace),
    yes: true,
  });
}
