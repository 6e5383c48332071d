import { existsSync } from 'node:fs';
import { openSession, SessionKey, WorkspaceSessionLog } from '@x/core';
import { type Command, readArguments, UsageError } from '../../command.js';
import { identityOptions, openWorkspace, scopeOf } from '../../identity-options.js';
import { openStore, storeOptions } from '../../open-store.js';

const usage =
  'x sessions export SESSION [--workspace DIR | --redis URL | --mysql URL] [--agent ID] [--user ID] [--tenant ID]';

/** Writes a session as JSON lines: its state, then every message of its log, where there is one. */
export const exportSession: Command = {
  usage,
  summary: 'Writes a session as JSON lines: its state, then every message of its log.',
  async run(args, output) {
    const { values, positionals } = readArguments(usage, args, { ...identityOptions, ...storeOptions });
    const [sessionId, ...rest] = positionals;
    if (sessionId === undefined || rest.length > 0) throw new UsageError(`Usage: ${usage}`);
    const key = SessionKey.of({ ...scopeOf(values), sessionId });
    const { store, close } = await openStore(values, { readOnly: true });
    try {
      const { state, version } = await openSession(store, key);
      if (version === 0) throw new UsageError(`There is no session ${key}; see x sessions list.`);
      output.write(`${JSON.stringify({ type: 'state', key: key.parts, version, state })}\n`);
    } finally {
      await close();
    }
    // The log is in the workspace, wherever the session is stored.
    if (!existsSync(values.workspace)) return;
    const log = new WorkspaceSessionLog(openWorkspace(values), key);
    for await (const message of log.read()) output.write(`${JSON.stringify({ type: 'log', message })}\n`);
  },
};
