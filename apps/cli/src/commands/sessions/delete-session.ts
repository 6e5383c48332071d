import { existsSync } from 'node:fs';
import { SessionKey, WorkspaceSessionLog } from '@x/core';
import { type Command, readArguments, UsageError } from '../../command.js';
import { identityOptions, identityUsage, openWorkspace, scopeOf } from '../../identity-options.js';
import { openStore, storeOptions, storeUsage } from '../../open-store.js';

const usage = `x sessions delete SESSION --yes ${storeUsage} ${identityUsage}`;

/** Deletes a session and its log. */
export const deleteSession: Command = {
  usage,
  summary: 'Deletes a session and its log.',
  async run(args, output) {
    const { values, positionals } = readArguments(usage, args, {
      ...identityOptions,
      ...storeOptions,
      yes: { type: 'boolean' },
    });
    const [sessionId, ...rest] = positionals;
    if (sessionId === undefined || rest.length > 0) throw new UsageError(`Usage: ${usage}`);
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
      const workspace = openWorkspace(values, { readOnly: false });
      existed = (await workspace.delete(new WorkspaceSessionLog(workspace, key).location)) || existed;
    }
    if (!existed) throw new UsageError(`There is no session ${key}; see x sessions list.`);
    output.write(`Deleted ${key}.\n`);
  },
};
