import { whatIsGone } from '@x/compaction';
import { printable } from '@x/harness/view';
import { command } from '../../command.js';
import { identityOptions, scopeOf } from '../../identity-options.js';
import { storeOptions } from '../../open-store.js';
import { readSession } from '../../session-events.js';

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
    const receipt = await whatIsGone(await readSession(values, { ...scopeOf(values), sessionId }));
    const { markdown, ...data } = receipt;
    output.write(values.json ? `${JSON.stringify(data)}\n` : `${printable(markdown)}\n`);
  },
});
