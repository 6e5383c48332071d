import { whatIsGone } from '@x/compaction';
import { openSession } from '@x/core';
import { printable } from '@x/harness/view';
import { command, UsageError } from '../../command.js';
import { findLog, findSession, noSession } from '../../find-session.js';
import { identityOptions, scopeOf } from '../../identity-options.js';
import { storeOptions, withStore } from '../../open-store.js';

/** Says what the model no longer sees of a session, and where it is. */
export const explainSession = command({
  name: 'sessions explain',
  takes: 'SESSION',
  options: {
    json: { type: 'boolean', help: 'The data as JSON.' },
    ...storeOptions,
    ...identityOptions,
  },
  summary:
    'Says what the model no longer sees of a session: requests, errors, conclusions, files, and what it saved.',
  examples: ['x sessions explain s-001', 'x sessions explain s-001 --json | jq .items'],
  async run({ values, positionals: [sessionId = ''], output }) {
    const receipt = await withStore(values, { readOnly: true }, async (store) => {
      const key = await findSession(store, scopeOf(values), sessionId);
      const { state, version } = await openSession(store, key);
      if (version === 0) throw noSession(key);
      const log = await findLog(values, key);
      if (log === undefined) {
        throw new UsageError(
          `No log of session ${sessionId} is in ${values.workspace}. Name its folder with --workspace DIR.`,
        );
      }
      return whatIsGone({ state, log });
    });
    const { markdown, ...data } = receipt;
    output.write(values.json ? `${JSON.stringify(data)}\n` : `${printable(markdown)}\n`);
  },
});
