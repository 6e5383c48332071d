import { existsSync } from 'node:fs';
import type { SessionKey } from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import { command, UsageError } from '../../command.js';
import { describeSession, findSession, noSession } from '../../find-session.js';
import { identityOptions, openWorkspace, scopeOf } from '../../identity-options.js';
import { openStore, storeOptions } from '../../open-store.js';

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
    let key: SessionKey;
    let existed: boolean;
    const { store, close } = await openStore(values, { readOnly: !values.yes });
    try {
      key = await findSession(store, scopeOf(values), sessionId);
      if (!values.yes) {
        const which = describeSession(key.parts);
        throw new UsageError(`This would delete session ${which} and its log for good; say --yes to do it.`);
      }
      existed = await store.delete(key);
    } finally {
      await close();
    }
    if (existsSync(values.workspace)) {
      const workspace = openWorkspace(values);
      existed = (await workspace.delete(new WorkspaceSessionLog(workspace, key).location)) || existed;
    }
    if (!existed) throw noSession(key);
    output.write(`Deleted ${describeSession(key.parts)}.\n`);
  },
});
