import { whatIsGone } from '@x/compaction';
import { openSession } from '@x/core';
import { printable } from '@x/harness/view';
import { command } from '../../command.js';
import { findLog, findSession, noSession } from '../../find-session.js';
import { scopeOf } from '../../identity-options.js';
import { sessionOptions, withStore } from '../../open-store.js';
import { costLines, explanation, readEvents } from '../../session-events.js';

/** Lists the content that compactions removed from the model's view of a session, and where the log has it. */
export const explainSession = command({
  name: 'sessions explain',
  takes: 'SESSION',
  options: { json: { type: 'boolean', help: 'The data as JSON.' }, ...sessionOptions },
  summary:
    'Lists the content that compactions removed from the view of the model (requests, errors, conclusions, files), and the savings.',
  examples: ['x sessions explain s-001', 'x sessions explain s-001 --json | jq .items'],
  async run({ values, positionals: [sessionId = ''], output }) {
    const found = await readEvents(values, { ...scopeOf(values), sessionId });
    const receipt = await whatIsGone(found);
    const { markdown: _, ...data } = receipt;
    output.write(
      values.json ? `${JSON.stringify(data)}\n` : `${printable(explanation(receipt, found.events))}\n`,
    );
  },
});

export const costSession = command({
  name: 'sessions cost',
  takes: 'SESSION',
  options: sessionOptions,
  summary: 'Shows the savings of compaction in a session, and the cost of the session.',
  examples: ['x sessions cost s-001'],
  async run({ values, positionals: [sessionId = ''], output }) {
    const found = await readEvents(values, { ...scopeOf(values), sessionId });
    output.write(`${costLines(found).join('\n')}\n`);
  },
});

/** Writes a session as JSON lines: its state, then every message of its log, if there is one. */
export const exportSession = command({
  name: 'sessions export',
  takes: 'SESSION',
  options: sessionOptions,
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
