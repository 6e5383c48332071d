import { openSession } from '@x/core';
import { command } from '../../command.js';
import { findLog, findSession, noSession } from '../../find-session.js';
import { identityOptions, scopeOf } from '../../identity-options.js';
import { storeOptions, withStore } from '../../open-store.js';

/** Writes a session as JSON lines: its state, then every message of its log, if there is one. */
export const exportSession = command({
  name: 'sessions export',
  takes: 'SESSION',
  options: { ...storeOptions, ...identityOptions },
  summary: 'Writes a session as JSON lines: its state, then every message of its log.',
  examples: ['x sessions export s-001 > s-001.jsonl'],
  async run({ values, positionals: [sessionId = ''], output }) {
    const key = await withStore(values, { readOnly: true }, async (store) => {
      const found = await findSession(store, scopeOf(values), sessionId);
      const { state, version } = await openSession(store, found);
      if (version === 0) throw noSession(found);
      output.write(`${JSON.stringify({ type: 'state', key: found.parts, version, state })}\n`);
      return found;
    });
    const log = await findLog(values, key);
    if (log === undefined) return;
    for await (const message of log.read()) output.write(`${JSON.stringify({ type: 'log', message })}\n`);
  },
});
