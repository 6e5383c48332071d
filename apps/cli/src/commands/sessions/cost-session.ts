import { command } from '../../command.js';
import { identityOptions, scopeOf } from '../../identity-options.js';
import { storeOptions } from '../../open-store.js';
import { costLines, readEvents } from '../../session-events.js';

export const costSession = command({
  name: 'sessions cost',
  takes: 'SESSION',
  options: { ...storeOptions, ...identityOptions },
  summary: 'Says what compaction saved in a session, and what the session cost.',
  examples: ['x sessions cost s-001'],
  async run({ values, positionals: [sessionId = ''], output }) {
    const found = await readEvents(values, { ...scopeOf(values), sessionId });
    output.write(`${costLines(found).join('\n')}\n`);
  },
});
