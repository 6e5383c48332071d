import type { SessionInfo } from '@x/core';
import { command } from '../../command.js';
import { describeSession } from '../../find-session.js';
import { identityOptions, scopeOf } from '../../identity-options.js';
import { storeOptions, withStore } from '../../open-store.js';
import { oneLine } from '../../terminal/style.js';

/** Lists sessions, the latest first: all that can be listed, also when it fails in the end. */
export const listSessions = command({
  name: 'sessions list',
  options: {
    json: { type: 'boolean', help: 'One JSON object a session.' },
    ...storeOptions,
    ...identityOptions,
  },
  summary: 'Lists sessions, the latest first.',
  async run({ values, output }) {
    const found: SessionInfo[] = [];
    let failure: { readonly error: unknown } | undefined;
    await withStore(values, { readOnly: true }, async (store) => {
      try {
        for await (const info of store.list(scopeOf(values))) found.push(info);
      } catch (error) {
        // A store says which sessions are damaged after it has listed the others.
        failure = { error };
      }
    });
    for (const { key, version, createdAt, updatedAt, messages, bytes, title = '', metadata } of found) {
      if (values.json) {
        const info = { ...key.parts, version, createdAt, updatedAt, messages, bytes, title, metadata };
        output.write(`${JSON.stringify(info)}\n`);
      } else {
        const line = `${updatedAt}  v${version}  ${describeSession(key.parts)}  ${title}`;
        output.write(`${oneLine(line.trimEnd())}\n`);
      }
    }
    if (failure !== undefined) throw failure.error;
    if (found.length === 0 && !values.json) output.write('No sessions.\n');
  },
});
