import { existsSync } from 'node:fs';
import { SessionKey } from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import { command, UsageError } from '../../command.js';
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
    const key = SessionKey.of({ ...scopeOf(values), sessionId });
    if (!values.yes) {
      throw new UsageError(`This would delete session ${key} and its log for good; say --yes to do it.`);
    }
    const { store, close } = await openStore(values, { readOnly: false });
    let existed: boolean;
    try {
      existed = await store.delete(key);
    } finally {
      await close();
    }
    if (existsSync(values.workspace)) {
      const workspace = openWorkspace(values);
      existed = (await workspace.delete(new WorkspaceSessionLog(workspace, key).location)) || existed;
    }
    if (!existed) throw new UsageError(`There is no session ${key}; see x sessions list.`);
    output.write(`Deleted ${key}.\n`);
  },
});
